// SPDX-License-Identifier: BSD-3-Clause
// Decides when a file that is replayed has been read to its end: a driver never says so.
#pragma once

#include <cstdint>
#include <span>

namespace nearpool {

class InputWatch {
 public:
  // @param quiet_seconds  how long nothing may have arrived
  explicit InputWatch(double quiet_seconds) : quiet_seconds_(quiet_seconds) {}

  // @param arrivals  frames that the devices have taken from their inputs, lost ones included: a
  //                  device that is out of buffers still eats its file
  // @param polls     polls of each forwarding lcore so far
  // @param seconds   a clock that never goes back
  // @return whether the input is at its end: no arrival for quiet_seconds, and kPolls polls by each
  //         lcore meanwhile, so that a lcore that was not run is not taken for an idle one.
  bool ended(uint64_t arrivals, uint64_t fewest_polls, double seconds) {
    if (!started_ || arrivals != arrivals_) {
      started_ = true;
      arrivals_ = arrivals;
      polls_ = fewest_polls;
      since_ = seconds;
      return false;
    }
    return seconds - since_ >= quiet_seconds_ && fewest_polls >= polls_ + kPolls;
  }

  static constexpr uint64_t kPolls = 64;

 private:
  const double quiet_seconds_;
  bool started_ = false;
  uint64_t arrivals_ = 0;
  uint64_t polls_ = 0;
  double since_ = 0;
};

}  // namespace nearpool
