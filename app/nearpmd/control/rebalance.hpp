// SPDX-License-Identifier: BSD-3-Clause
// Which queue to move where so that no lcore is overloaded: a decision, nothing is moved here.
#pragma once

#include <optional>
#include <span>

#include "control/queue_map.hpp"

namespace nearpool {

struct QueueLoad {
  QueueKey key;
  int node = kUnknownNode;  // of the port
  unsigned lcore = kNoLcore;
  double load = 0;  // share of its lcore's time over the last period, 0 to 1
};

struct Move {
  QueueKey key;
  unsigned from = kNoLcore;
  unsigned to = kNoLcore;
  double before = 0;  // load of the busiest lcore, 0 to 1
  double after = 0;   // the higher of the two lcores' loads, as expected
};

// The one move that helps most, if some lcore is above `threshold` and the move lowers the higher
// of the two loads by at least `gain` (both 0 to 1). Of moves that help the same, to a lcore of the
// port's node. A lcore's only queue stays: moving it moves the overload.
std::optional<Move> choose_move(std::span<const QueueLoad> queues,
                                std::span<const LcorePlace> lcores, double threshold, double gain);

}  // namespace nearpool
