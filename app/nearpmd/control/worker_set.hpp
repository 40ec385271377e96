// SPDX-License-Identifier: BSD-3-Clause
// The forwarding lcores, and how they are given other plans while they run.
#pragma once

#include <rte_rcu_qsbr.h>

#include <map>
#include <memory>
#include <vector>

#include "datapath/worker.hpp"
#include "status.hpp"

namespace nearpool {

// A plan per lcore.
using Plans = std::map<unsigned, std::unique_ptr<Plan>>;

class WorkerSet {
 public:
  // Launches a worker on each of `lcores`, which wait.
  static Result<std::unique_ptr<WorkerSet>> launch(const std::vector<unsigned>& lcores);
  // Ends all workers; their queues are left.
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // Brings `plans` into force; a lcore that is not named gets nothing to do. A queue that goes from
  // one lcore to another is left by the old one, at its quiescent point, before the new one begins.
  // When this returns nobody uses what only the old plans named.
  void publish(Plans plans);
  // Nobody polls, sends or holds anything when this returns.
  void idle() { publish({}); }

  const Worker* find(unsigned lcore) const;
  const std::vector<unsigned>& lcores() const { return lcores_; }
  rte_rcu_qsbr* qsbr() const { return qsbr_.get(); }

 private:
  struct Free {
    void operator()(rte_rcu_qsbr* qsbr) const;
  };
  explicit WorkerSet(std::vector<unsigned> lcores) : lcores_(std::move(lcores)) {}
  Status start_all();
  void swap_in(Plans plans);
  void wait_left();

  std::vector<unsigned> lcores_;
  std::unique_ptr<rte_rcu_qsbr, Free> qsbr_;
  std::map<unsigned, std::unique_ptr<Worker>> workers_;
  std::vector<unsigned> running_;
  Plans plans_;
};

// What of `wanted` may begin at once: all but the queues and rings that another lcore of `current`
// still has. Null if that is all of `wanted`.
std::unique_ptr<Plans> without_handovers(const Plans& current, const Plans& wanted);

}  // namespace nearpool
