// SPDX-License-Identifier: BSD-3-Clause
// Lcores that are given other plans: what they leave, what they keep, and that a queue never has
// two. The queues are those of a port that is none: its receive function takes pages as a driver
// does.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <page_pool.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "../eal_main.hpp"
#include "control/worker_set.hpp"
#include "datapath/verdict.hpp"

namespace nearpool {
namespace {

constexpr uint16_t kPort = RTE_MAX_ETHPORTS - 1;  // that no device has
constexpr unsigned kQueues = 12;
constexpr unsigned kCache = 64;
constexpr unsigned kBurst = 32;

struct Queue {
  page_pool* pool = nullptr;
  QueueCounters counters;
  std::atomic<uint64_t> wanted{0};  // frames still to be received
  std::atomic<uint64_t> polls{0};
  std::atomic<unsigned> inside{0};   // lcores in its receive function
  std::atomic<unsigned> pollers{0};  // most of them at once
};

uint16_t receive(void* data, rte_mbuf** frames, uint16_t count) {
  auto* queue = static_cast<Queue*>(data);
  queue->polls.fetch_add(1);
  const unsigned others = queue->inside.fetch_add(1);
  if (others + 1 > queue->pollers.load()) queue->pollers.store(others + 1);
  uint16_t got = 0;
  const uint64_t wanted = queue->wanted.load();
  if (wanted >= count && page_pool_alloc_bulk(queue->pool, frames, count) == 0) {
    queue->wanted.store(wanted - count);
    got = count;
  }
  queue->inside.fetch_sub(1);
  return got;
}

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    const page_arena_node node{0, kQueues * 256};
    page_arena_params params{};
    params.name = "worker";
    params.data_room = 256;
    params.nodes = &node;
    params.nb_nodes = 1;
    params.min_pages = params.low_pages = params.high_pages = PAGE_ARENA_NO_WATERMARK;
    params.flags = test::have_hugepages() ? 0 : PAGE_ARENA_F_NO_HUGE;
    ASSERT_EQ(page_arena_create(&params, &arena_), 0) << page_pool_error();
    struct rte_eth_fp_ops& ops = rte_eth_fp_ops[kPort];
    before_ = ops;
    for (unsigned q = 0; q < kQueues; q++) {
      make_pool(queues_[q], q);
      data_[q] = &queues_[q];
    }
    ops.rxq.data = data_.data();
    ops.rxq.clbk = no_callbacks_.data();
    ops.rx_pkt_burst = receive;
    auto set = WorkerSet::launch({1, 2, 3});
    ASSERT_TRUE(set) << set.error();
    workers_ = std::move(*set);
  }
  void TearDown() override {
    workers_.reset();
    for (Queue& queue : queues_) {
      EXPECT_LE(queue.pollers.load(), 1u);
      page_pool_destroy(queue.pool);
    }
    EXPECT_EQ(page_pool_service(), 0u);
    EXPECT_EQ(page_arena_destroy(arena_), 0) << page_pool_error();
    rte_eth_fp_ops[kPort] = before_;
  }

  void make_pool(Queue& queue, unsigned q) {
    const std::string name = fmt::format("q{}", q);
    page_pool_params params{};
    params.name = name.c_str();
    params.arena = arena_;
    params.node = 0;
    params.quota = 256;
    params.cache_size = kCache;
    ASSERT_EQ(page_pool_create(&params, &queue.pool), 0) << page_pool_error();
  }

  // @param lcores  of each queue
  Plans plans(const std::array<unsigned, kQueues>& lcores) {
    Plans plans;
    for (const unsigned lcore : workers_->lcores()) {
      auto plan = std::make_unique<Plan>();
      plan->verdict = verdict_drop;
      plan->burst = kBurst;
      plan->reap_cycles = UINT64_MAX / 2;
      for (uint16_t q = 0; q < kQueues; q++) {
        if (lcores[q] != lcore) {
          plan->foreign_pools.push_back(queues_[q].pool);
          continue;
        }
        PolledQueue polled;
        polled.port = kPort;
        polled.queue = q;
        polled.pool = queues_[q].pool;
        polled.counters = &queues_[q].counters;
        plan->polled.push_back(polled);
      }
      plans[lcore] = std::move(plan);
    }
    return plans;
  }

  // Lets each queue receive and drop some frames; then all rest, their lcores with full caches.
  void warm_up() {
    for (Queue& queue : queues_)
      queue.wanted = 4 * kBurst;
    for (Queue& queue : queues_)
      wait_until([&] { return queue.counters.verdict_drop.read() >= 4 * kBurst; });
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::yield();
    }
  }
  page_pool_stats stats(unsigned q) const {
    page_pool_stats stats;
    page_pool_get_stats(queues_[q].pool, &stats);
    return stats;
  }

  page_arena* arena_ = nullptr;
  std::array<Queue, kQueues> queues_;
  std::array<void*, kQueues> data_{};
  std::array<void*, RTE_MAX_QUEUES_PER_PORT> no_callbacks_{};
  struct rte_eth_fp_ops before_ {};
  std::unique_ptr<WorkerSet> workers_;
};

TEST_F(WorkerTest, AMoveLeavesOneQueueHoweverManyThereAre) {
  std::array<unsigned, kQueues> lcores;
  lcores.fill(1);
  workers_->publish(plans(lcores));
  warm_up();
  std::array<page_pool_stats, kQueues> before;
  for (unsigned q = 0; q < kQueues; q++) {
    before[q] = stats(q);
    ASSERT_EQ(before[q].consumer, 1);
    ASSERT_GT(before[q].cached, 0u);
  }
  lcores[5] = 2;
  workers_->publish(plans(lcores));
  for (unsigned q = 0; q < kQueues; q++) {
    const page_pool_stats after = stats(q);
    EXPECT_EQ(after.takeovers, 0u) << "queue " << q << " was left before it was taken";
    EXPECT_EQ(after.released, before[q].released);
    EXPECT_EQ(after.flushed, before[q].flushed) << "no page is looked at";
    if (q == 5) {
      EXPECT_NE(after.consumer, 1);
      EXPECT_EQ(after.cached, 0u);
      EXPECT_EQ(after.stashed, before[q].stashed + before[q].cached);
      EXPECT_LE(before[q].cached, kCache + kCache / 2);
      continue;
    }
    EXPECT_EQ(after.consumer, 1) << "queue " << q;
    EXPECT_EQ(after.cached, before[q].cached) << "queue " << q << " stayed as it was";
    EXPECT_EQ(after.stashed, before[q].stashed) << "queue " << q;
  }
}

TEST_F(WorkerTest, AQueueNeverHasTwoPollersHoweverPlansChange) {
  for (Queue& queue : queues_)
    queue.wanted = UINT64_MAX / 2;
  uint32_t seed = 7;
  for (unsigned turn = 0; turn < 60; turn++) {
    std::array<unsigned, kQueues> lcores;
    for (unsigned& lcore : lcores) {
      seed = seed * 1664525 + 1013904223;
      lcore = 1 + (seed >> 16) % 4;  // 4: nobody
    }
    workers_->publish(plans(lcores));
    for (unsigned q = 0; q < kQueues; q++) {
      if (lcores[q] == 4) continue;
      // One of them is enough: the lcores share two CPUs.
      const uint64_t before = queues_[q].polls;
      wait_until([&] { return queues_[q].polls != before; });
      break;
    }
  }
  workers_->idle();
  for (unsigned q = 0; q < kQueues; q++) {
    EXPECT_EQ(stats(q).takeovers, 0u) << "queue " << q;
    EXPECT_EQ(stats(q).consumer, -1) << "queue " << q;
    EXPECT_EQ(stats(q).cached, 0u) << "queue " << q << ": nobody keeps anything";
    EXPECT_EQ(stats(q).inflight, 0) << "queue " << q;
    EXPECT_LE(queues_[q].pollers.load(), 1u) << "queue " << q;
  }
}

}  // namespace
}  // namespace nearpool
