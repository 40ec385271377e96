// SPDX-License-Identifier: BSD-3-Clause
// Who polls what, and where frames go: decisions only, nothing here touches a port or a lcore.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/options.hpp"

namespace nearpool {

constexpr int kUnknownNode = -1;
constexpr unsigned kNoLcore = UINT32_MAX;

struct QueueKey {
  uint16_t port = 0;
  uint16_t queue = 0;
  auto operator<=>(const QueueKey&) const = default;
};

struct LcorePlace {
  unsigned lcore = 0;
  int node = kUnknownNode;
};

struct QueuePlace {
  QueueKey key;
  int node = kUnknownNode;  // of the port
};

// The lcore of each queue, in the order of `queues`. A queue goes to a lcore of its port's node,
// or, where that node has none, to any: in each case to the one that has the fewest queues so far.
// `lcores` is not empty.
std::vector<unsigned> assign_queues(std::span<const QueuePlace> queues,
                                    std::span<const LcorePlace> lcores);

// Ports whose node is known and has none of `lcores`, each once.
std::vector<uint16_t> ports_without_near_lcore(std::span<const QueuePlace> queues,
                                               std::span<const LcorePlace> lcores);

// The port that frames of `port` are redirected to. `ports` is sorted and holds `port`.
uint16_t peer_of(std::span<const uint16_t> ports, uint16_t port, Topology topology);

// redirect-cpu: the lcore that transmits what `lcore` polls: the next one, round the list.
unsigned transmitter_of(std::span<const LcorePlace> lcores, unsigned lcore);

}  // namespace nearpool
