// SPDX-License-Identifier: BSD-3-Clause
#include "control/rebalance.hpp"

#include <algorithm>
#include <map>

namespace nearpool {
namespace {

// Differences below this are measurement noise: the nearer lcore wins then.
constexpr double kSame = 0.02;

struct LcoreLoad {
  double load = 0;
  unsigned queues = 0;
};

}  // namespace

std::optional<Move> choose_move(std::span<const QueueLoad> queues,
                                std::span<const LcorePlace> lcores, double threshold, double gain) {
  std::map<unsigned, LcoreLoad> loads;
  for (const QueueLoad& queue : queues) {
    loads[queue.lcore].load += queue.load;
    loads[queue.lcore].queues++;
  }
  std::optional<Move> best;
  bool best_near = false;
  for (const QueueLoad& queue : queues) {
    const LcoreLoad& from = loads[queue.lcore];
    if (from.load < threshold || from.queues < 2) continue;
    for (const LcorePlace& lcore : lcores) {
      if (lcore.lcore == queue.lcore) continue;
      const double after = std::max(from.load - queue.load, loads[lcore.lcore].load + queue.load);
      const double gained = from.load - after;
      if (gained < gain) continue;
      const bool near = queue.node == kUnknownNode || lcore.node == queue.node;
      const Move move{queue.key, queue.lcore, lcore.lcore, from.load, after};
      const double best_gained = best ? best->before - best->after : 0;
      const bool better = !best || gained > best_gained + kSame ||
                          (gained > best_gained - kSame && near && !best_near);
      if (!better) continue;
      best = move;
      best_near = near;
    }
  }
  return best;
}

}  // namespace nearpool
