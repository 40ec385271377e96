// SPDX-License-Identifier: BSD-3-Clause
#include "control/load_meter.hpp"

#include <rte_cycles.h>

#include <algorithm>

namespace nearpool {

void LoadMeter::look(const Engine& engine) {
  for (const unsigned id : engine.workers()->lcores()) {
    const LcoreCounters& counters = engine.workers()->find(id)->counters();
    const Reading now{counters.busy_cycles.read(), counters.idle_cycles.read()};
    const Reading before = lcores_before_[id];
    const uint64_t busy = now.busy - before.busy;
    const uint64_t all = busy + now.idle - before.idle;
    lcore_loads_[id] = all == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(all);
    lcores_before_[id] = now;
  }
  const uint64_t cycles = rte_get_tsc_cycles();
  const double elapsed = static_cast<double>(cycles - cycles_before_);
  cycles_before_ = cycles;
  queue_loads_.clear();
  for (const auto& entry : engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      const uint64_t busy = queue->counters.busy_cycles.read();
      uint64_t& before = queues_before_[queue->key];
      // A queue that was set up again counts from zero.
      const uint64_t spent = busy >= before ? busy - before : busy;
      before = busy;
      queue_loads_[queue->key] = std::min(1.0, static_cast<double>(spent) / elapsed);
    }
  }
}

double LoadMeter::lcore(unsigned lcore) const {
  const auto found = lcore_loads_.find(lcore);
  return found == lcore_loads_.end() ? 0 : found->second;
}

double LoadMeter::queue(QueueKey key) const {
  const auto found = queue_loads_.find(key);
  return found == queue_loads_.end() ? 0 : found->second;
}

std::vector<QueueLoad> LoadMeter::queues(const Engine& engine) const {
  std::vector<QueueLoad> loads;
  for (const Port* port : engine.ports_in_use()) {
    if (port->state() != PortState::kStarted) continue;
    for (const auto& rx : port->rx_queues()) {
      const unsigned owner = engine.owner(rx->key);
      if (owner != kNoLcore) loads.push_back({rx->key, port->node(), owner, queue(rx->key)});
    }
  }
  return loads;
}

}  // namespace nearpool
