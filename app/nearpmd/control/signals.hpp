// SPDX-License-Identifier: BSD-3-Clause
// SIGINT and SIGTERM ask for a clean end; the second one ends at once. No other signal ends
// anything.
#pragma once

namespace nearpool {

void catch_signals();
// Whether one has arrived. Any thread.
bool stop_requested();

}  // namespace nearpool
