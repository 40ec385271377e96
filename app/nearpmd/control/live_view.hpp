// SPDX-License-Identifier: BSD-3-Clause
// --stats-period: rates, local share and pool levels of each queue. A table that is redrawn in
// place on a terminal, plain lines elsewhere.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/queue_board.hpp"

namespace nearpool {

class LiveView {
 public:
  // @param rows  height of the terminal to redraw on; 0: it is none
  // Text to write next, escape sequences included. Rates are those since the call before.
  std::string next(const std::vector<QueueLine>& lines, double now_seconds, unsigned rows);

 private:
  struct Rates {
    double received = 0, forwarded = 0, dropped = 0;  // frames per second
  };
  Rates rates_of(const QueueLine& line, double seconds) const;

  std::map<std::pair<uint16_t, uint16_t>, QueueLine> before_;
  double before_seconds_ = 0;
  size_t drawn_ = 0;  // lines on the screen that the next table takes the place of
};

// Rows of the terminal that `out` is, or 0 if it is none.
unsigned terminal_rows(std::FILE* out);

}  // namespace nearpool
