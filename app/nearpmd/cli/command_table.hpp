// SPDX-License-Identifier: BSD-3-Clause
// The prompt's commands as rte_cmdline wants them, built at run time from one line each:
//   {"move rxq PORT QUEUE lcore LCORE", "what it does", handler}
// A word in lower case is itself, "a|b|c" one of several, a word in capitals any word, and
// "TEXT..." the rest of the line.
#pragma once

#include <cmdline_parse.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "status.hpp"

struct cmdline;

namespace nearpool {

// What the user typed for each word of the pattern.
class Arguments {
 public:
  explicit Arguments(const char* parsed) : parsed_(parsed) {}
  std::string word(size_t index) const;
  // A whole number from 0 to `limit` - 1, or a sentence that names `what`.
  Result<unsigned> number(size_t index, const char* what, unsigned limit) const;
  // "on" is true. Only for words that the pattern limits to on|off.
  bool on(size_t index) const { return word(index) == "on"; }

 private:
  const char* parsed_;
};

struct Command {
  std::string pattern;
  std::string section;  // of `help`
  std::string help;
  std::function<Status(const Arguments&)> run;
};

class CommandTable {
 public:
  // @param done  called with what each command returned
  CommandTable(std::vector<Command> commands, std::function<void(const Status&)> done);
  ~CommandTable();
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  // For rte_cmdline; lives as long as the table.
  cmdline_parse_ctx_t* context() { return context_.data(); }
  const std::vector<Command>& commands() const { return commands_; }

  // Runs one line; spaces, comments and empty lines are nothing. What is no command is a sentence.
  Status run_line(const std::string& text);

 private:
  struct Tokens;
  static void call(void* parsed, struct cmdline* cl, void* entry);
  std::string usage_of(const std::string& line) const;

  std::vector<Command> commands_;
  std::function<void(const Status&)> done_;
  std::vector<std::unique_ptr<Tokens>> tokens_;
  std::vector<cmdline_parse_inst_t*> context_;
  struct cmdline* quiet_ = nullptr;  // parses lines that no terminal typed
};

}  // namespace nearpool
