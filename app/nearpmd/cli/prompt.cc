// SPDX-License-Identifier: BSD-3-Clause
#include "cli/prompt.hpp"

#include <cmdline.h>
#include <cmdline_socket.h>
#include <fcntl.h>
#include <poll.h>
#include <rte_cycles.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "cli/session.hpp"
#include "control/batch.hpp"
#include "control/signals.hpp"

namespace nearpool {
namespace {

constexpr char kPrompt[] = "nearpmd> ";
constexpr int kTickMilliseconds = 100;
// Files that load each other end somewhere.
constexpr unsigned kDeepestLoad = 8;

class Prompt {
 public:
  Prompt(Engine& engine, const ParsedOptions& parsed)
      : session_(engine, parsed.origins),
        table_(all_commands(session_), [this](const Status& status) { last_ = status; }) {
    session_.load_file = [this](const std::string& path) { return load(path); };
    session_.show_help = [this](const std::string& section) { return help(section); };
  }
  bool quit() const { return session_.quit; }

  Status load(const std::string& path);
  Status interact();

 private:
  Status run_line(const std::string& line);
  Status interact_pipe();
  Status interact_terminal();
  Status help(const std::string& section) const;
  void tick();
  bool over() const { return session_.quit || stop_requested(); }

  Session session_;
  Status last_;
  unsigned depth_ = 0;
  CommandTable table_;
};

void Prompt::tick() {
  tick_session(session_,
               static_cast<double>(rte_get_tsc_cycles()) / static_cast<double>(rte_get_tsc_hz()));
}

Status Prompt::run_line(const std::string& line) {
  last_ = {};
  Status status = table_.run_line(line);
  if (status) status = last_;
  std::fflush(stdout);
  return status;
}

Status Prompt::load(const std::string& path) {
  if (depth_ == kDeepestLoad) {
    return failure("file '{}' is not loaded: files load each other {} deep already", path,
                   kDeepestLoad);
  }
  std::ifstream file(path);
  std::string line;
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    // A directory opens, and fails at the first byte.
    if (!file.is_open() || !file.eof()) {
      return failure("file '{}' with commands cannot be read", path);
    }
  }
  depth_++;
  Status status;
  for (unsigned number = 1; status && !over() && std::getline(file, line); number++) {
    status = run_line(line);
    if (!status) status = failure("{}:{}: {}", path, number, status.error());
    tick();
  }
  depth_--;
  return status;
}

Status Prompt::help(const std::string& section) const {
  std::string last, sections;
  bool found = false;
  for (const Command& command : table_.commands()) {
    const bool begins = command.section != last;
    last = command.section;
    if (begins) sections += (sections.empty() ? "" : ", ") + command.section;
    if (!section.empty() && command.section != section) continue;
    found = true;
    if (begins) fmt::print("{}:\n", command.section);
    fmt::print("  {:<60} {}\n", command.pattern, command.help);
  }
  if (!found) return failure("help has no section '{}': there are {}", section, sections);
  return {};
}

Status Prompt::interact() {
  return isatty(STDIN_FILENO) != 0 ? interact_terminal() : interact_pipe();
}

Status Prompt::interact_pipe() {
  Status first;
  std::string text;
  unsigned number = 0;
  const auto take = [&](const std::string& line) {
    number++;
    fmt::print("{}{}\n", kPrompt, line);
    const Status status = run_line(line);
    if (status) return;
    fmt::print(stderr, "nearpmd: {}\n", status.error());
    if (first) first = failure("standard input:{}: {}", number, status.error());
  };
  while (!over()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kTickMilliseconds);
    tick();
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      if (!text.empty()) take(text);
      break;
    }
    text.append(bytes, static_cast<size_t>(count));
    for (size_t end; !over() && (end = text.find('\n')) != std::string::npos;) {
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      take(line);
      tick();
    }
  }
  return first;
}

Status Prompt::interact_terminal() {
  struct cmdline* terminal = cmdline_stdin_new(table_.context(), kPrompt);
  if (terminal == nullptr) return failure("the terminal cannot be used for a prompt");
  while (!over()) {
    std::fflush(stdout);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kTickMilliseconds);
    tick();
    if (ready <= 0) continue;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) break;
    last_ = {};
    const int taken = cmdline_in(terminal, &byte, 1);
    if (!last_) fmt::print(stderr, "\rnearpmd: {}\n{}", last_.error(), kPrompt);
    if (taken < 0) break;
  }
  cmdline_stdin_exit(terminal);
  fmt::print("\n");
  return {};
}

}  // namespace

Status run_prompt(Engine& engine, const ParsedOptions& parsed) {
  const Options& options = parsed.options;
  Prompt prompt(engine, parsed);
  std::fflush(stdout);
  if (!options.cmdline_file.empty()) {
    if (auto status = prompt.load(options.cmdline_file); !status) return status;
  }
  if (options.auto_start && !engine.forwarding()) {
    if (auto status = engine.start(options.tx_first ? 1 : 0); !status) return status;
  }
  if (prompt.quit()) return {};
  return options.interactive ? prompt.interact() : run_batch(engine);
}

}  // namespace nearpool
