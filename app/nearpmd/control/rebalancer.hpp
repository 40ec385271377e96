// SPDX-License-Identifier: BSD-3-Clause
// Moves queues from overloaded lcores to idle ones, once per period, at the prompt and without it.
#pragma once

#include "control/load_meter.hpp"

namespace nearpool {

class Rebalancer {
 public:
  // Control thread, several times a second: acts by the options as they are now.
  // @param now_seconds  a clock that never goes back
  // @param verbose  0: says errors only; 1: and moves; 2: and that there is nothing to gain
  void tick(Engine& engine, double now_seconds, unsigned verbose);
  // A period begins with the next tick: an option was changed.
  void begin_anew() { next_ = 0; }

 private:
  LoadMeter load_;
  double next_ = 0;  // seconds
};

}  // namespace nearpool
