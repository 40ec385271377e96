// SPDX-License-Identifier: BSD-3-Clause
// The poll loop of one lcore, and the way the control thread gives it another plan.
#pragma once

#include <rte_rcu_qsbr.h>

#include <atomic>
#include <cstdint>

#include "datapath/counters.hpp"
#include "datapath/plan.hpp"

namespace nearpool {

class Worker {
 public:
  // Polls of all queues between two looks at the clock and at the node of the running CPU: reading
  // the clock costs as much as a frame or two, and a lcore moves rarely.
  static constexpr unsigned kPollsPerLook = 8;

  // @param qsbr  has room for `lcore` as a thread id and outlives the worker
  Worker(unsigned lcore, rte_rcu_qsbr* qsbr);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Control thread. The worker reads `plan` from its next cycle on; `plan` must live until two
  // grace periods after another one has been published. Null: nothing to poll.
  void publish(const Plan* plan);
  // Control thread: the worker leaves its queues and its loop.
  void quit();

  // The lcore itself, until quit().
  void run();

  unsigned lcore() const { return lcore_; }
  const LcoreCounters& counters() const { return counters_; }

 private:
  void cycle(const Plan& plan);
  bool poll(const Plan& plan, const PolledQueue& queue, rte_mbuf** burst);
  bool transmit_handed(const Plan& plan, const HandedQueue& handed, rte_mbuf** burst);
  void change(const Plan& before, const Plan& after);
  void look_around(const Plan& plan);
  uint64_t end_group();
  void account(QueueCounters& counters);

  const unsigned lcore_;
  rte_rcu_qsbr* const qsbr_;
  // The control thread's store releases the plan's contents to the worker's acquiring load.
  std::atomic<const Plan*> plan_;

  // The worker's own.
  alignas(64) uint64_t now_ = 0;  // TSC at the last look
  uint64_t sampled_from_ = 0;
  uint64_t next_reap_ = 0;
  unsigned turn_ = 0;
  unsigned cycles_ = 0;  // poll cycles since the last look
  unsigned busy_cycles_ = 0;
  bool sampled_ = false;
  unsigned after_move_ = 0;  // polls that are still to be counted as such
  int node_ = 0;
  LcoreCounters counters_;
};

}  // namespace nearpool
