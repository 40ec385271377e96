// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace nearpool::connectx4 {

enum class LogLevel : int { kError = 0, kNotice = 1, kDebug = 2 };

// Lines above this level are not written. Set once, before the first device is opened.
void set_log_level(LogLevel level);

// One line on standard error, "connectx4: ...". Any thread.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);

}  // namespace nearpool::connectx4
