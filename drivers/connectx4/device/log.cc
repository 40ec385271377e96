// SPDX-License-Identifier: BSD-3-Clause
#include "log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace nearpool::connectx4 {
namespace {
std::atomic<int> highest_level{static_cast<int>(LogLevel::kError)};
}

void set_log_level(LogLevel level) {
  highest_level.store(static_cast<int>(level), std::memory_order_relaxed);
}

void log(LogLevel level, const char* format, ...) {
  if (static_cast<int>(level) > highest_level.load(std::memory_order_relaxed)) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  // One call, so that lines of several threads do not mix.
  std::fprintf(stderr, "connectx4: %s\n", line);
}

}  // namespace nearpool::connectx4
