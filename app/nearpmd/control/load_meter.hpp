// SPDX-License-Identifier: BSD-3-Clause
// How busy lcores and queues were between two looks.
#pragma once

#include <map>
#include <vector>

#include "control/engine.hpp"
#include "control/rebalance.hpp"

namespace nearpool {

class LoadMeter {
 public:
  // Takes the counters now; what the others return is about the time since the look before.
  void look(const Engine& engine);
  // Share of its time that a lcore, or the lcore of a queue for it, was busy: 0 to 1.
  double lcore(unsigned lcore) const;
  double queue(QueueKey key) const;
  std::vector<QueueLoad> queues(const Engine& engine) const;

 private:
  struct Reading {
    uint64_t busy = 0, idle = 0;
  };
  std::map<unsigned, Reading> lcores_before_;
  std::map<QueueKey, uint64_t> queues_before_;
  std::map<unsigned, double> lcore_loads_;
  std::map<QueueKey, double> queue_loads_;
  uint64_t cycles_before_ = 0;
};

}  // namespace nearpool
