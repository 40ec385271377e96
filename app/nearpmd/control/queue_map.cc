// SPDX-License-Identifier: BSD-3-Clause
#include "control/queue_map.hpp"

#include <algorithm>

namespace nearpool {
namespace {

bool has_lcore_on(std::span<const LcorePlace> lcores, int node) {
  return std::any_of(lcores.begin(), lcores.end(),
                     [&](const LcorePlace& lcore) { return lcore.node == node; });
}

}  // namespace

std::vector<unsigned> assign_queues(std::span<const QueuePlace> queues,
                                    std::span<const LcorePlace> lcores) {
  std::vector<unsigned> count(lcores.size(), 0);
  std::vector<unsigned> assigned;
  for (const QueuePlace& queue : queues) {
    const bool near_only = queue.node != kUnknownNode && has_lcore_on(lcores, queue.node);
    std::optional<size_t> best;
    for (size_t i = 0; i < lcores.size(); i++) {
      if (near_only && lcores[i].node != queue.node) continue;
      if (!best || count[i] < count[*best]) best = i;
    }
    count[*best]++;
    assigned.push_back(lcores[*best].lcore);
  }
  return assigned;
}

std::vector<uint16_t> ports_without_near_lcore(std::span<const QueuePlace> queues,
                                               std::span<const LcorePlace> lcores) {
  std::vector<uint16_t> ports;
  for (const QueuePlace& queue : queues) {
    if (queue.node == kUnknownNode || has_lcore_on(lcores, queue.node)) continue;
    if (std::find(ports.begin(), ports.end(), queue.key.port) == ports.end()) {
      ports.push_back(queue.key.port);
    }
  }
  return ports;
}

uint16_t peer_of(std::span<const uint16_t> ports, uint16_t port, Topology topology) {
  const auto found = std::find(ports.begin(), ports.end(), port);
  const auto index = static_cast<size_t>(found - ports.begin());
  switch (topology) {
    case Topology::kPaired:
      // The last of an odd number of ports is its own peer.
      return (index ^ 1) < ports.size() ? ports[index ^ 1] : port;
    case Topology::kChained:
      return ports[(index + 1) % ports.size()];
    case Topology::kLoop:
      break;
  }
  return port;
}

unsigned transmitter_of(std::span<const LcorePlace> lcores, unsigned lcore) {
  for (size_t i = 0; i < lcores.size(); i++) {
    if (lcores[i].lcore == lcore) return lcores[(i + 1) % lcores.size()].lcore;
  }
  return lcore;
}

}  // namespace nearpool
