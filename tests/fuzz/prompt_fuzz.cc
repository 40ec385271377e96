// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as lines at the prompt, with the program's own commands; none of them does anything.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/command_table.hpp"
#include "patterns.hpp"

namespace {

nearpool::CommandTable& table() {
  static auto* made = [] {
    std::vector<nearpool::Command> commands;
    for (const char* pattern : kPatterns) {
      commands.push_back(
          {pattern, "", "", [](const nearpool::Arguments& arguments) -> nearpool::Status {
             // What a handler does first: read its words and numbers.
             for (size_t i = 0; i < 6; i++) {
               if (arguments.word(i).size() >= 4096) std::abort();
               (void)arguments.number(i, "number", 32);
             }
             return {};
           }});
    }
    return new nearpool::CommandTable(std::move(commands), [](const nearpool::Status&) {});
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const auto status = table().run_line(text.substr(start, end - start));
    if (!status && status.error().empty()) std::abort();
    start = end + 1;
  }
  return 0;
}
