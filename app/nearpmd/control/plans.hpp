// SPDX-License-Identifier: BSD-3-Clause
// Builds the lcores' plans from the ports, the queue map and the options.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "control/port.hpp"
#include "control/queue_map.hpp"
#include "control/worker_set.hpp"

namespace nearpool {

using Owners = std::map<QueueKey, unsigned>;  // queue to the lcore that polls it

struct PlanInput {
  std::span<Port* const> ports;        // in use, sorted by id, started or not
  std::span<const LcorePlace> lcores;  // that forward
  const Owners* owners = nullptr;
  const Options* options = nullptr;
  const std::set<uint16_t>* quiet = nullptr;  // ports to be treated as stopped
  bool drain = false;                         // poll nothing, only transmit what was handed over
};

// Only started ports are polled and sent to; what would go elsewhere has no route.
Plans build_plans(const PlanInput& input);

// Marks the TX queues that several of `lcores` lcores send on. Nobody sends meanwhile.
void share_tx_queues(std::span<Port* const> ports, size_t lcores);

// The exception port of each port and the other way round: as --pass-map says, else the n-th
// ordinary port with the n-th exception port.
std::map<uint16_t, uint16_t> pass_routes(std::span<Port* const> ports,
                                         const std::map<uint16_t, uint16_t>& chosen);

}  // namespace nearpool
