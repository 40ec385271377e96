// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_table.hpp"

#include <cmdline.h>
#include <cmdline_parse_string.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>

namespace nearpool {
namespace {

// Word `index` of a command is parsed to this place of rte_cmdline's result.
constexpr size_t kSlot = STR_TOKEN_SIZE;
constexpr size_t kMostWords = (CMDLINE_PARSE_RESULT_BUFSIZE - STR_MULTI_TOKEN_SIZE) / kSlot;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

bool is_any(const std::string& word) {
  return word.front() >= 'A' && word.front() <= 'Z';
}

}  // namespace

std::string Arguments::word(size_t index) const {
  return parsed_ + index * kSlot;
}

Result<unsigned> Arguments::number(size_t index, const char* what, unsigned limit) const {
  const std::string text = word(index);
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value >= limit) {
    return failure("{} '{}' is not a number from 0 to {}", what, text, limit - 1);
  }
  return value;
}

// The tokens of one command, and the instruction that points to them, at fixed addresses.
struct CommandTable::Tokens {
  CommandTable* table = nullptr;
  const Command* command = nullptr;
  std::vector<std::string> texts;  // "a#b#c", as rte_cmdline has it
  std::vector<cmdline_token_string> tokens;
  cmdline_parse_inst_t* instruction = nullptr;

  Tokens(CommandTable* owner, const Command& of) : table(owner), command(&of) {
    const auto words = words_of(of.pattern);
    texts.reserve(words.size());
    tokens.reserve(words.size());
    for (size_t i = 0; i < std::min(words.size(), kMostWords); i++)
      add(i, words[i]);
    // The instruction ends in an array without a size, which C++ cannot write down.
    const size_t size =
        sizeof(cmdline_parse_inst_t) + (tokens.size() + 1) * sizeof(cmdline_parse_token_hdr_t*);
    instruction = static_cast<cmdline_parse_inst_t*>(std::calloc(1, size));
    if (instruction == nullptr) throw std::bad_alloc();
    instruction->f = &CommandTable::call;
    instruction->data = this;
    instruction->help_str = of.help.c_str();
    for (size_t i = 0; i < tokens.size(); i++)
      instruction->tokens[i] = &tokens[i].hdr;
  }
  ~Tokens() { std::free(instruction); }
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

 private:
  void add(size_t index, const std::string& word) {
    std::string text = word;
    std::replace(text.begin(), text.end(), '|', '#');
    const bool rest = word.ends_with("...");
    texts.push_back(rest ? TOKEN_STRING_MULTI : text);
    cmdline_token_string token{};
    token.hdr.ops = &cmdline_token_string_ops;
    token.hdr.offset = static_cast<unsigned>(index * kSlot);
    token.string_data.str = is_any(word) && !rest ? nullptr : texts.back().c_str();
    tokens.push_back(token);
  }
};

CommandTable::CommandTable(std::vector<Command> commands, std::function<void(const Status&)> done)
    : commands_(std::move(commands)), done_(std::move(done)) {
  for (const Command& command : commands_) {
    tokens_.push_back(std::make_unique<Tokens>(this, command));
    context_.push_back(tokens_.back()->instruction);
  }
  context_.push_back(nullptr);
  quiet_ = cmdline_new(context_.data(), "", -1, -1);
}

CommandTable::~CommandTable() {
  cmdline_free(quiet_);
}

void CommandTable::call(void* parsed, struct cmdline*, void* entry) {
  const auto* tokens = static_cast<Tokens*>(entry);
  tokens->table->done_(tokens->command->run(Arguments(static_cast<const char*>(parsed))));
}

std::string CommandTable::usage_of(const std::string& line) const {
  const auto words = words_of(line);
  std::string usage;
  for (const Command& command : commands_) {
    if (words.empty() || words_of(command.pattern).front() != words.front()) continue;
    usage += (usage.empty() ? "" : "; ") + command.pattern;
  }
  return usage;
}

Status CommandTable::run_line(const std::string& text) {
  // Files of other systems end their lines with two characters.
  const std::string line = text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
  // rte_cmdline stops at the first zero byte and does not look behind it.
  if (line.find('\0') != std::string::npos) return failure("a line with a zero byte is no command");
  if (line.find_first_of("\r\n") != std::string::npos) {
    return failure("a line with a carriage return in its midst is no command");
  }
  switch (cmdline_parse(quiet_, (line + "\n").c_str())) {
    case CMDLINE_PARSE_NOMATCH:
      return failure("'{}' is no command: help lists them", line);
    case CMDLINE_PARSE_AMBIGUOUS:
      return failure("'{}' may mean several commands: help lists them", line);
    case CMDLINE_PARSE_BAD_ARGS:
      return failure("'{}' is no such command; there are: {}", line, usage_of(line));
    default:
      return {};
  }
}

}  // namespace nearpool
