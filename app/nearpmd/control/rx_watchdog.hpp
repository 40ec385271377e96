// SPDX-License-Identifier: BSD-3-Clause
// Says it when a port that had been receiving has gone silent though its link is up.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace nearpool {

class RxWatchdog {
 public:
  // What is known of a port at `now` (seconds). @param limit  silence is worth a word after this
  // many seconds; 0: never. @return a sentence when the silence begins to be one or ends, else
  // empty. A port that never received anything has nothing to miss.
  std::string look(uint16_t port, uint64_t received, bool link_up, double now, double limit);
  void forget(uint16_t port) { ports_.erase(port); }

 private:
  struct Seen {
    uint64_t received = 0;
    double since = 0;
    bool told = false;
  };
  std::map<uint16_t, Seen> ports_;
};

}  // namespace nearpool
