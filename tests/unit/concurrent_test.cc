// SPDX-License-Identifier: BSD-3-Clause
// Real lcores at once: one consumer that changes its node, two that return, a thread without an
// lcore id that returns, and the control thread at its work. Exact books at the end. Under
// ThreadSanitizer this is the test of every order that the pool promises.
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kPagesToPass = 40'000;
#elif defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kPagesToPass = 200'000;
#else
constexpr uint64_t kPagesToPass = 2'000'000;
#endif
constexpr unsigned kBurst = 32;

// Two CPUs for all threads: one that waits lets the others run.
void wait_a_little() {
  rte_pause();
  sched_yield();
}

constexpr unsigned kReturners = 3;  // two lcores and a thread without an lcore id

// Passes pages from the consumer to the returners: a ring for each, since on a shared one all wait
// for whoever was preempted in the middle.
class HandOver {
 public:
  HandOver() {
    for (unsigned i = 0; i < kReturners; ++i) {
      const std::string name = "handover" + std::to_string(i);
      rings_[i] = rte_ring_create(name.c_str(), 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
      if (rings_[i] == nullptr) throw std::runtime_error("no memory for a ring");
    }
  }
  ~HandOver() {
    for (rte_ring* ring : rings_)
      rte_ring_free(ring);
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;
  // All of them, to the returners in turn. One thread at a time.
  void give(void** pages, unsigned n) {
    while (n != 0) {
      const unsigned given =
          rte_ring_enqueue_burst(rings_[next_++ % kReturners], pages, n, nullptr);
      pages += given;
      n -= given;
    }
  }
  unsigned get(unsigned returner, void** pages, unsigned n) {
    return rte_ring_dequeue_burst(rings_[returner], pages, n, nullptr);
  }

 private:
  rte_ring* rings_[kReturners] = {};
  unsigned next_ = 0;
};

struct Flow {
  page_pool* pool = nullptr;
  page_arena* arena = nullptr;
  rte_mempool* mempool = nullptr;
  HandOver handover;
  std::atomic<uint64_t> passed{0};    // by consumers
  std::atomic<uint64_t> returned{0};  // by returners
  std::atomic<bool> all_passed{false};
  // Whose turn it is to poll; a lcore that leaves passes it on with release, the next acquires.
  std::atomic<unsigned> turn{0};
  unsigned consumers = 1;
  bool flush = true;
};

// A consumer or a returner.
struct Worker {
  Flow* run;
  unsigned number;
};

int consume(void* argument) {
  const Worker& self = *static_cast<Worker*>(argument);
  Flow& run = *self.run;
  uint64_t passed = 0;
  unsigned polls = 0;
  while (run.passed.load(std::memory_order_relaxed) < kPagesToPass) {
    if (run.turn.load(std::memory_order_acquire) != self.number) {
      wait_a_little();
      continue;
    }
    const int node = (polls++ / 7) % 2 == 0 ? kNear : kFar;
    page_pool_nid_changed(run.pool, node);
    void* pages[kBurst];
    const unsigned n = 1 + polls % kBurst;
    if (rte_mempool_get_bulk(run.mempool, pages, n) == 0) {
      for (unsigned i = 0; i < n; ++i)
        static_cast<rte_mbuf*>(pages[i])->data_len = static_cast<uint16_t>(polls);
      run.handover.give(pages, n - 1);
      rte_mempool_put(run.mempool, pages[n - 1]);
      passed += n;
      run.passed.fetch_add(n, std::memory_order_relaxed);
    } else {
      wait_a_little();
    }
    if (polls % 50 == 0 && run.consumers > 1) {
      page_pool_release(run.pool);
      run.turn.store((self.number + 1) % run.consumers, std::memory_order_release);
    }
  }
  if (run.turn.load(std::memory_order_acquire) == self.number) {
    page_pool_release(run.pool);
    run.turn.store((self.number + 1) % run.consumers, std::memory_order_release);
  }
  return passed != 0 ? 0 : -1;
}

int give_back(void* argument) {
  const Worker& self = *static_cast<Worker*>(argument);
  Flow& run = *self.run;
  unsigned calls = 0;
  for (;;) {
    const bool last = run.all_passed.load(std::memory_order_acquire);
    void* pages[kBurst];
    const unsigned n = run.handover.get(self.number, pages, kBurst);
    if (n == 0) {
      if (last) break;
      if (run.flush) page_pool_flush_returns(run.pool);
      wait_a_little();
      continue;
    }
    if (++calls % 3 == 0) {
      rte_mempool_put_bulk(run.mempool, pages, n);
    } else {
      for (unsigned i = 0; i < n; ++i)
        rte_mempool_put(run.mempool, pages[i]);
    }
    run.returned.fetch_add(n, std::memory_order_relaxed);
  }
  if (run.flush) page_pool_flush_returns(run.pool);
  return 0;
}

class ConcurrentTest : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    if (rte_lcore_count() < 6) GTEST_SKIP() << "fewer than 6 lcores";
  }

  page_pool* make(Flow& run, uint32_t quota = 600) {
    run.arena = make_arena({.min = 20, .low = 60, .high = 120});
    page_pool_params params = defaults(run.arena);
    params.quota = quota;
    run.pool = make_pool(params);
    run.mempool = page_pool_mempool(run.pool);
    return run.pool;
  }

  // What a control thread does, once.
  static void control(Flow& run, unsigned round) {
    page_pool_stats s;
    page_pool_get_stats(run.pool, &s);
    EXPECT_LE(s.owned, 800u);
    rte_mempool_avail_count(run.mempool);
    page_pool_service();
    switch (round % 8) {
      case 0:
        page_pool_set_quota(run.pool, 300);
        break;
      case 1:
        page_arena_force_pressure(run.arena, kNear, true);
        break;
      case 2:
        page_pool_set_flags(run.pool, PAGE_POOL_F_NO_FOREIGN_REJECT, 0);
        break;
      case 3:
        page_arena_force_pressure(run.arena, kNear, false);
        break;
      case 4:
        page_pool_set_quota(run.pool, 600);
        break;
      case 5:
        page_pool_set_flags(run.pool, 0, PAGE_POOL_F_NO_FOREIGN_REJECT);
        break;
      case 6:
        page_pool_set_flags(run.pool, PAGE_POOL_F_NO_BULK_RETURN, 0);
        break;
      default:
        page_pool_set_flags(run.pool, 0, PAGE_POOL_F_NO_BULK_RETURN);
        break;
    }
    page_arena_stats node;
    page_arena_get_stats(run.arena, 0, &node);
  }

  // lcores 1 and on consume, in turn; two more return, and a thread without an lcore id.
  void pass_pages(Flow& run, bool with_control) {
    Worker consumers[2] = {{&run, 0}, {&run, 1}};
    Worker returners[kReturners] = {{&run, 0}, {&run, 1}, {&run, 2}};
    for (unsigned i = 0; i < run.consumers; ++i)
      ASSERT_EQ(rte_eal_remote_launch(consume, &consumers[i], 1 + i), 0);
    ASSERT_EQ(rte_eal_remote_launch(give_back, &returners[0], 4), 0);
    ASSERT_EQ(rte_eal_remote_launch(give_back, &returners[1], 5), 0);
    std::thread unregistered([&] { give_back(&returners[2]); });
    const uint64_t deadline = rte_get_tsc_cycles() + 120 * rte_get_tsc_hz();
    unsigned round = 0;
    while (run.passed.load(std::memory_order_relaxed) < kPagesToPass &&
           rte_get_tsc_cycles() < deadline) {
      if (with_control) control(run, round++);
      wait_a_little();
    }
    EXPECT_GE(run.passed.load(), kPagesToPass) << "the consumer stands still";
    run.passed.store(kPagesToPass);
    for (unsigned i = 0; i < run.consumers; ++i)
      EXPECT_EQ(rte_eal_wait_lcore(1 + i), 0);
    run.all_passed.store(true, std::memory_order_release);
    rte_eal_wait_lcore(4);
    rte_eal_wait_lcore(5);
    unregistered.join();
  }

  void expect_calm(Flow& run) {
    for (const int node : {kNear, kFar})
      page_arena_force_pressure(run.arena, node, false);
    const page_pool_stats s = stats(run.pool);
    EXPECT_EQ(s.consumer, -1);
    EXPECT_EQ(s.cached, 0u);
    EXPECT_GT(s.nid_updates, 100u);
    EXPECT_GT(s.foreign_refused, 0u);
    EXPECT_GT(s.recycle_ring, 0u);
    EXPECT_EQ(s.misuse + s.misrouted, 0u);
    expect_books({{run.pool, 0}});
  }
};

TEST_F(ConcurrentTest, AConsumerThatMovesAndReturnsFromEverywhere) {
  Flow run;
  make(run);
  pass_pages(run, false);
  expect_calm(run);
}

TEST_F(ConcurrentTest, WithAControlThreadAtWork) {
  Flow run;
  make(run);
  pass_pages(run, true);
  expect_calm(run);
}

TEST_F(ConcurrentTest, TheQueueMovesBetweenTwoLcores) {
  Flow run;
  make(run);
  run.consumers = 2;
  pass_pages(run, true);
  expect_calm(run);
  EXPECT_EQ(stats(run.pool).takeovers, 0u) << "each left before the other came";
}

TEST_F(ConcurrentTest, HardenedFindsNothingToReport) {
  Flow run;
  run.arena = make_arena();
  page_pool_params params = defaults(run.arena);
  params.flags = PAGE_POOL_F_HARDENED;
  run.pool = make_pool(params);
  run.mempool = page_pool_mempool(run.pool);
  run.consumers = 2;
  pass_pages(run, false);
  expect_calm(run);
}

// Takers beside the consumer: all threads take and return, and the quota is never exceeded.
TEST_F(ConcurrentTest, EverybodyTakesAndReturns) {
  Flow run;
  make(run, 200);
  const auto churn = [](void* argument) {
    Flow& r = *static_cast<Flow*>(argument);
    const unsigned lcore = rte_lcore_id();
    // Starts when all five are there.
    r.turn.fetch_add(1, std::memory_order_relaxed);
    while (r.turn.load(std::memory_order_relaxed) != 5)
      wait_a_little();
    for (uint64_t passed = 0, i = 0; passed < kPagesToPass / 10; ++i) {
      if (lcore == 1) page_pool_nid_changed(r.pool, i / 16 % 2 == 0 ? kNear : kFar);
      void* pages[kBurst];
      const unsigned n = static_cast<unsigned>(1 + (i * 7 + lcore) % kBurst);
      if (rte_mempool_get_bulk(r.mempool, pages, n) != 0) {
        page_pool_flush_returns(r.pool);
        wait_a_little();
        continue;
      }
      passed += n;
      if (i % 8 == 0) wait_a_little();
      rte_mempool_put_bulk(r.mempool, pages, n);
      if (i % 16 == 0) page_pool_flush_returns(r.pool);
    }
    page_pool_flush_returns(r.pool);
    page_pool_release(r.pool);
    r.returned.fetch_add(1, std::memory_order_release);
    return 0;
  };
  for (unsigned lcore = 1; lcore <= 4; ++lcore)
    ASSERT_EQ(rte_eal_remote_launch(churn, &run, lcore), 0);
  std::thread unregistered([&] { churn(&run); });
  while (run.returned.load(std::memory_order_acquire) != 5) {
    EXPECT_LE(stats(run.pool).owned, 200u);
    page_pool_service();
    wait_a_little();
  }
  for (unsigned lcore = 1; lcore <= 4; ++lcore)
    rte_eal_wait_lcore(lcore);
  unregistered.join();
  EXPECT_GT(stats(run.pool).takes_other, kPagesToPass / 40);
  EXPECT_EQ(stats(run.pool).cached, 0u);
  expect_books({{run.pool, 0}});
}

// Pools end one after the other while their pages are on the way back from other threads.
TEST_F(ConcurrentTest, PoolsEndWhileTheirPagesComeBack) {
  page_arena* arena = make_arena();
  Flow run;
  run.flush = false;
  // Frees what it is handed by the pool each page names, as drivers do.
  const auto free_all = [](void* argument) {
    const Worker& self = *static_cast<Worker*>(argument);
    for (;;) {
      const bool last = self.run->all_passed.load(std::memory_order_acquire);
      void* pages[7];
      const unsigned n = self.run->handover.get(self.number, pages, 7);
      for (unsigned i = 0; i < n; ++i)
        rte_pktmbuf_free(static_cast<rte_mbuf*>(pages[i]));
      if (n == 0) {
        if (last) return 0;
        wait_a_little();
      }
    }
  };
  Worker returners[kReturners] = {{&run, 0}, {&run, 1}, {&run, 2}};
  for (unsigned i = 0; i < 2; ++i)
    ASSERT_EQ(rte_eal_remote_launch(free_all, &returners[i], 4 + i), 0);
  std::thread unregistered([&] { free_all(&returners[2]); });
  const unsigned rounds = kPagesToPass < 100'000 ? 20 : 100;
  for (unsigned round = 0; round < rounds; ++round) {
    char name[16];
    std::snprintf(name, sizeof(name), "short%u", round);
    page_pool_params params = defaults(arena, name);
    params.quota = 100;
    page_pool* pool = nullptr;
    ASSERT_EQ(page_pool_create(&params, &pool), 0) << page_pool_error();
    Pages pages = take(pool, 90);
    // The pool ends before its pages are on their way, so that no lcore gathers them.
    EXPECT_EQ(page_pool_destroy(pool), -EINPROGRESS);
    run.handover.give(pages.data(), 30);
    page_pool_service();
    run.handover.give(pages.data() + 30, 30);
    page_pool_service();
    run.handover.give(pages.data() + 60, 30);
  }
  const uint64_t deadline = rte_get_tsc_cycles() + 60 * rte_get_tsc_hz();
  while (page_pool_service() != 0 && rte_get_tsc_cycles() < deadline)
    wait_a_little();
  EXPECT_EQ(page_pool_service(), 0u);
  run.all_passed.store(true, std::memory_order_release);
  rte_eal_wait_lcore(4);
  rte_eal_wait_lcore(5);
  unregistered.join();
  expect_all_home();
}

}  // namespace
}  // namespace nearpool::test
