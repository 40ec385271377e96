// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/worker.hpp"

#include <page_pool.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include <algorithm>

#include "datapath/checksum.hpp"
#include "datapath/verdict.hpp"

namespace nearpool {
namespace {

// Two plans that are never freed: a worker that sleeps or has ended holds one of them.
const Plan kIdle;
const Plan kQuit;

// How the time is shared out among queues is an average: looked at in one of so many cycles.
constexpr unsigned kSample = 32;
static_assert(kSample % Worker::kPollsPerLook == 0);

// A pool looks through what it holds in bounded pieces, 256 pages a poll: this many polls are
// enough for the largest stash and ring that the pools of this program have as a rule.
constexpr unsigned kAfterMove = 64;

bool polls_pool(const Plan& plan, const page_pool* pool) {
  return std::any_of(plan.polled.begin(), plan.polled.end(),
                     [&](const PolledQueue& queue) { return queue.pool == pool; });
}

}  // namespace

Worker::Worker(unsigned lcore, rte_rcu_qsbr* qsbr) : lcore_(lcore), qsbr_(qsbr), plan_(&kIdle) {
  rte_rcu_qsbr_thread_register(qsbr_, lcore_);
}

Worker::~Worker() {
  rte_rcu_qsbr_thread_unregister(qsbr_, lcore_);
}

void Worker::publish(const Plan* plan) {
  // Pairs with the acquiring load in run().
  plan_.store(plan == nullptr || plan->empty() ? &kIdle : plan, std::memory_order_release);
  plan_.notify_one();
}

void Worker::quit() {
  plan_.store(&kQuit, std::memory_order_release);
  plan_.notify_one();
}

void Worker::run() {
  rte_rcu_qsbr_thread_online(qsbr_, lcore_);
  const Plan* current = &kIdle;
  for (;;) {
    // The order matters: what a plan named is left between this report and the next one, so after
    // two grace periods the control thread knows that the old plan's queues have been left.
    rte_rcu_qsbr_quiescent(qsbr_, lcore_);
    const Plan* next = plan_.load(std::memory_order_acquire);  // pairs with publish()
    if (next != current) [[unlikely]] {
      change(*current, *next);
      current = next;
      if (current == &kQuit) break;
    }
    if (current == &kIdle) [[unlikely]] {
      rte_rcu_qsbr_thread_offline(qsbr_, lcore_);
      plan_.wait(&kIdle, std::memory_order_acquire);
      rte_rcu_qsbr_thread_online(qsbr_, lcore_);
      continue;
    }
    cycle(*current);
  }
  rte_rcu_qsbr_thread_offline(qsbr_, lcore_);
}

// From one plan to the next. It takes the place of a poll, and is timed as one.
void Worker::change(const Plan& before, const Plan& after) {
  end_group();
  after_move_ = kAfterMove;
  for (const PolledQueue& queue : before.polled) {
    if (queue.pool != nullptr && !polls_pool(after, queue.pool)) page_pool_release(queue.pool);
  }
  // The plan that follows may name fewer pools: what was gathered of theirs goes now.
  for (page_pool* pool : before.foreign_pools)
    page_pool_flush_returns(pool);
  if (!before.empty()) {
    ++cycles_;
    counters_.after_move.add(end_group());
  }
  now_ = rte_rdtsc();  // the time asleep is nobody's
  turn_ = 0;           // the node is looked at before the first poll
}

void Worker::cycle(const Plan& plan) {
  rte_mbuf* burst[kMaxBurst];
  if (turn_ % kPollsPerLook == 0) look_around(plan);
  sampled_ = turn_++ % kSample == 0;
  if (sampled_) sampled_from_ = now_;  // has just been looked at
  bool busy = false;
  for (const PolledQueue& queue : plan.polled) {
    if (queue.pool != nullptr && page_pool_nid_changed(queue.pool, node_)) [[unlikely]]
      after_move_ = kAfterMove;
    busy |= poll(plan, queue, burst);
  }
  for (const HandedQueue& handed : plan.handed)
    busy |= transmit_handed(plan, handed, burst);
  if (plan.polled.empty() && plan.handed.empty()) rte_pause();
  for (page_pool* pool : plan.foreign_pools)
    page_pool_flush_returns(pool);
  ++cycles_;
  busy_cycles_ += busy ? 1 : 0;
  if (after_move_ != 0) [[unlikely]] {
    after_move_--;
    counters_.after_move.add(end_group());
  }
}

void Worker::look_around(const Plan& plan) {
  end_group();
  node_ = page_pool_current_node();
  if (now_ < next_reap_) return;
  for (TxQueue* queue : plan.tx_queues)
    counters_.reaps.add(queue->reap_if_idle());
  next_reap_ = now_ + plan.reap_cycles;
}

// Accounts for the cycles since the last look. Returns how long they took.
uint64_t Worker::end_group() {
  if (cycles_ == 0) return 0;
  const uint64_t now = rte_rdtsc();
  const uint64_t spent = now - now_;
  const uint64_t busy = spent * busy_cycles_ / cycles_;
  counters_.busy_cycles.add(busy);
  counters_.idle_cycles.add(spent - busy);
  counters_.histogram.add(spent);
  counters_.polls.add(cycles_);
  now_ = now;
  cycles_ = busy_cycles_ = 0;
  return spent;
}

bool Worker::poll(const Plan& plan, const PolledQueue& queue, rte_mbuf** burst) {
  // A full hand-over ring leaves frames where a NIC drops them for nothing.
  if (queue.handoff != nullptr && rte_ring_free_count(queue.handoff) < plan.burst) return false;
  const unsigned received = rte_eth_rx_burst(queue.port, queue.queue, burst, plan.burst);
  if (received == 0) return false;
  queue.counters->received.add(received);
  queue.counters->bursts.add(1);
  unsigned kept = received;
  if (plan.touch != nullptr) kept = plan.touch(burst, received, *queue.counters);
  if (queue.checksums && queue.out != nullptr) [[unlikely]]
    pass_checksums(*queue.out, *queue.counters, burst, kept);
  if (kept != 0) [[likely]]
    plan.verdict(queue, burst, kept);
  if (sampled_) [[unlikely]]
    account(*queue.counters);
  return true;
}

bool Worker::transmit_handed(const Plan& plan, const HandedQueue& handed, rte_mbuf** burst) {
  const unsigned count =
      rte_ring_sc_dequeue_burst(handed.ring, reinterpret_cast<void**>(burst), plan.burst, nullptr);
  if (count == 0) return false;
  handed.counters->received.add(count);
  handed.counters->bursts.add(1);
  if (handed.checksums && handed.out != nullptr) [[unlikely]]
    pass_checksums(*handed.out, *handed.counters, burst, count);
  rewrite_macs(handed.rewrite, burst, count);
  send_or_drop(handed.out, *handed.counters, burst, count);
  if (sampled_) [[unlikely]]
    account(*handed.counters);
  return true;
}

// The time since the last look is this queue's, and that of the polls not looked at.
void Worker::account(QueueCounters& counters) {
  const uint64_t now = rte_rdtsc();
  counters.busy_cycles.add((now - sampled_from_) * kSample);
  sampled_from_ = now;
}

}  // namespace nearpool
