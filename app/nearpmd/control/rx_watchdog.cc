// SPDX-License-Identifier: BSD-3-Clause
#include "control/rx_watchdog.hpp"

#include <fmt/format.h>

namespace nearpool {

std::string RxWatchdog::look(uint16_t port, uint64_t received, bool link_up, double now,
                             double limit) {
  auto [entry, first] = ports_.try_emplace(port, Seen{received, now, false});
  Seen& seen = entry->second;
  if (first || received != seen.received || !link_up) {
    const bool again = seen.told && received != seen.received;
    const double silent = now - seen.since;
    seen = {received, now, false};
    return again ? fmt::format("port {}: frames come in again, after {:.0f} s", port, silent)
                 : std::string();
  }
  if (limit == 0 || received == 0 || seen.told || now - seen.since < limit) return {};
  seen.told = true;
  return fmt::format("port {}: no frame for {:.0f} s while its link is up (--rx-watchdog)", port,
                     now - seen.since);
}

}  // namespace nearpool
