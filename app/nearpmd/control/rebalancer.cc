// SPDX-License-Identifier: BSD-3-Clause
#include "control/rebalancer.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace nearpool {
namespace {

void rebalance(Engine& engine, const LoadMeter& load, unsigned verbose) {
  const RebalanceOptions& options = engine.options().rebalance;
  const auto move = choose_move(load.queues(engine), engine.forwarding_lcores(),
                                options.threshold_percent / 100.0, options.gain_percent / 100.0);
  if (!move) {
    if (verbose > 1) fmt::print("rebalance: nothing to gain\n");
    return;
  }
  if (verbose > 0) {
    fmt::print(
        "rebalance{}: port {} queue {} from lcore {} to {}: highest load {:.0f}% -> {:.0f}%\n",
        options.dry_run ? " (dry run)" : "", move->key.port, move->key.queue, move->from, move->to,
        100 * move->before, 100 * move->after);
  }
  if (options.dry_run) return;
  if (auto status = engine.move(move->key, move->to); !status) {
    fmt::print(stderr, "nearpmd: rebalance: {}\n", status.error());
  }
}

}  // namespace

void Rebalancer::tick(Engine& engine, double now_seconds, unsigned verbose) {
  if (now_seconds < next_) return;
  const RebalanceOptions& options = engine.options().rebalance;
  // The first look only begins the period.
  const bool due = next_ != 0;
  next_ = now_seconds + options.period_seconds;
  load_.look(engine);
  if (!options.on || !engine.forwarding() || !due) return;
  rebalance(engine, load_, verbose);
  std::fflush(stdout);  // nobody need press a key to hear of it
}

}  // namespace nearpool
