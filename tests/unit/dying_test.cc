// SPDX-License-Identifier: BSD-3-Clause
// Ends: pools that wait for their pages, in every order of teardown.
#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "log_capture.hpp"
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class DyingTest : public PoolTest {
 protected:
  struct Seen {
    unsigned pools = 0;
    page_pool_stats last{};
  };
  static Seen walk() {
    Seen seen;
    page_pool_walk(
        [](page_pool* pool, void* argument) {
          auto* s = static_cast<Seen*>(argument);
          ++s->pools;
          page_pool_get_stats(pool, &s->last);
        },
        &seen);
    return seen;
  }
  // Destroys, not by the fixture's hand.
  int end(page_pool* pool) {
    std::erase(pools_, pool);
    return page_pool_destroy(pool);
  }
};

TEST_F(DyingTest, NullIsAllowed) {
  EXPECT_EQ(page_pool_destroy(nullptr), 0);
  EXPECT_EQ(page_arena_destroy(nullptr), 0);
}

TEST_F(DyingTest, WithNothingOutItIsGoneAtOnce) {
  page_pool* pool = make_pool(defaults(make_arena()));
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    put(pool, take(pool, 300));
    page_pool_release(pool);
  }
  EXPECT_GT(stats(pool).owned, 0u);
  EXPECT_EQ(end(pool), 0);
  EXPECT_EQ(walk().pools, 0u);
  expect_all_home();
}

TEST_F(DyingTest, TheConsumerMayDestroyItsOwnPool) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  put(pool, take(pool, 100));
  ASSERT_GT(stats(pool).cached, 0u);
  EXPECT_EQ(end(pool), 0) << "what the caller itself holds as the consumer is no reason to wait";
  expect_all_home();
}

TEST_F(DyingTest, OneBufferOutIsWaitedFor) {
  page_arena* arena = make_arena();
  page_pool* pool = make_pool(defaults(arena));
  const uint32_t id = stats(pool).id;
  const Pages pages = take(pool, 100);
  put(pool, Pages(pages.begin(), pages.end() - 1), 64);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  const Seen seen = walk();
  ASSERT_EQ(seen.pools, 1u);
  EXPECT_TRUE(seen.last.dying);
  EXPECT_EQ(seen.last.id, id);
  EXPECT_EQ(seen.last.inflight, 1);
  EXPECT_EQ(seen.last.owned, 1u);
  EXPECT_EQ(page_pool_service(), 1u);
  EXPECT_EQ(page_arena_destroy(arena), -EBUSY);
  EXPECT_STREQ(page_pool_error(), "arena test: pools still use it; destroy them first");
  auto* buffer = static_cast<rte_mbuf*>(pages.back());
  EXPECT_STREQ(buffer->pool->name, "pool") << "the mempool is there as long as a buffer is";
  rte_pktmbuf_free(buffer);
  EXPECT_EQ(page_pool_service(), 0u);
  EXPECT_EQ(walk().pools, 0u);
  expect_all_home();
}

// Nobody flushes what a lcore gathers of a pool that is gone for the program.
TEST_F(DyingTest, SingleReturnsOfOtherLcoresAreNotGathered) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 10);
  rte_mempool* mempool = page_pool_mempool(pool);
  {
    const AsLcore other(kOther);
    put(pool, {pages[0], pages[1]}, 1);
    page_pool_flush_returns(pool);
  }
  EXPECT_EQ(end(pool), -EINPROGRESS);
  {
    const AsLcore other(kOther);
    for (unsigned i = 2; i < 6; ++i)
      rte_mempool_put(mempool, pages[i]);
  }
  EXPECT_EQ(walk().last.inflight, 4);
  EXPECT_EQ(walk().last.owned, 4u) << "what comes back goes home at once";
  std::thread([&] {
    for (unsigned i = 6; i < 10; ++i)
      rte_mempool_put(mempool, pages[i]);
  }).join();
  EXPECT_EQ(page_pool_service(), 0u);
}

TEST_F(DyingTest, WhatALcoreHadGatheredComesWithItsNextReturn) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 10);
  rte_mempool* mempool = page_pool_mempool(pool);
  const AsLcore other(kOther);
  put(pool, Pages(pages.begin(), pages.begin() + 9), 1);
  {
    const AsLcore control(0);
    EXPECT_EQ(end(pool), -EINPROGRESS);
  }
  EXPECT_EQ(walk().last.cached, 9u);
  rte_mempool_put(mempool, pages[9]);
  EXPECT_EQ(page_pool_service(), 0u);
}

// No page is out any more, so no return brings them.
TEST_F(DyingTest, WhatALcoreHadGatheredDoesNotKeepThePool) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 20);
  {
    const AsLcore other(kOther);
    put(pool, Pages(pages.begin(), pages.begin() + 9), 1);
  }
  {
    const AsLcore third(kThird);
    put(pool, Pages(pages.begin() + 9, pages.end()), 1);
  }
  ASSERT_EQ(stats(pool).cached, 20u);
  EXPECT_EQ(end(pool), 0);
  expect_all_home();
}

TEST_F(DyingTest, ADyingPoolGivesNothing) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 1);
  rte_mempool* mempool = page_pool_mempool(pool);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  void* page = nullptr;
  EXPECT_LT(rte_mempool_get(mempool, &page), 0);
  rte_mempool_put(mempool, pages[0]);
  EXPECT_EQ(page_pool_service(), 0u);
}

TEST_F(DyingTest, ThePoolsNameIsFreeWhenItIsGone) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 1);
  rte_mempool* mempool = page_pool_mempool(pool);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  page_pool* same = nullptr;
  const page_pool_params params = defaults(arena_);
  EXPECT_EQ(page_pool_create(&params, &same), -EEXIST);
  rte_mempool_put(mempool, pages[0]);
  EXPECT_EQ(page_pool_service(), 0u);
  make_pool(params);
}

TEST_F(DyingTest, WarningsComeAtABoundedRate) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 2);
  rte_mempool* mempool = page_pool_mempool(pool);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  const LogCapture log;
  const uint64_t start = rte_get_tsc_cycles();
  unsigned calls = 0;
  // The first warning is due after a second; it comes once, however often service is called.
  while (rte_get_tsc_cycles() - start < 3 * rte_get_tsc_hz() / 2) {
    EXPECT_EQ(page_pool_service(), 1u);
    ++calls;
  }
  EXPECT_GT(calls, 10u);
  EXPECT_EQ(log.count("pool pool is dying since 1 s: 2 pages are not home, 2 of them in use"), 1u)
      << log.text();
  rte_mempool_put_bulk(mempool, pages.data(), 2);
  EXPECT_EQ(page_pool_service(), 0u);
}

TEST_F(DyingTest, WithQsbrItIsFreedAfterTheReadersPassed) {
  const std::size_t bytes = rte_rcu_qsbr_get_memsize(8);
  auto* qsbr = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  ASSERT_EQ(rte_rcu_qsbr_init(qsbr, 8), 0);
  ASSERT_EQ(rte_rcu_qsbr_thread_register(qsbr, 2), 0);
  rte_rcu_qsbr_thread_online(qsbr, 2);
  page_pool_use_qsbr(qsbr);

  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 1);
  rte_mempool* mempool = page_pool_mempool(pool);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  rte_mempool_put(mempool, pages[0]);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(page_pool_service(), 1u) << "the reader may still be in the call";
  rte_rcu_qsbr_quiescent(qsbr, 2);
  EXPECT_EQ(page_pool_service(), 0u);

  // Also of a pool that had nothing out: a reader may hold its pointer.
  page_pool* idle = make_pool(defaults(arena_, "idle"));
  EXPECT_EQ(end(idle), -EINPROGRESS);
  EXPECT_EQ(page_pool_service(), 1u);
  rte_rcu_qsbr_thread_offline(qsbr, 2);
  EXPECT_EQ(page_pool_service(), 0u);

  // And of one whose last pages a lcore had gathered: it may be about to gather one more.
  rte_rcu_qsbr_thread_online(qsbr, 2);
  page_pool* gathered = make_pool(defaults(arena_, "gathered"));
  const Pages two = take(gathered, 2);
  {
    const AsLcore other(kOther);
    put(gathered, two, 1);
  }
  EXPECT_EQ(end(gathered), -EINPROGRESS);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(page_pool_service(), 1u);
  EXPECT_EQ(walk().last.cached, 2u) << "left to the lcore so far";
  rte_rcu_qsbr_quiescent(qsbr, 2);
  EXPECT_EQ(page_pool_service(), 0u);
  expect_all_home();
  page_pool_use_qsbr(nullptr);
  std::free(qsbr);
}

TEST_F(DyingTest, AWalkMayDestroyAllItVisits) {
  page_arena* arena = make_arena();
  for (const char* name : {"a", "b", "c", "d"})
    make_pool(defaults(arena, name));
  const Pages pages = take(pools_[1], 1);
  rte_mempool* mempool = page_pool_mempool(pools_[1]);
  pools_.clear();
  page_pool_walk([](page_pool* pool, void*) { page_pool_destroy(pool); }, nullptr);
  EXPECT_EQ(walk().pools, 1u) << "the one that waits";
  rte_mempool_put(mempool, pages[0]);
  EXPECT_EQ(page_pool_service(), 0u);
  page_arena_walk([](page_arena* each, void*) { EXPECT_EQ(page_arena_destroy(each), 0); }, nullptr);
  arena_ = nullptr;
}

TEST_F(DyingTest, AMempoolFreedByTheProgram) {
  page_pool* pool = make_pool(defaults(make_arena()));
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    put(pool, take(pool, 200));
  }
  ASSERT_GT(stats(pool).cached, 0u);
  const LogCapture log;
  rte_mempool_free(page_pool_mempool(pool));
  EXPECT_EQ(log.count("pool pool: the program freed its mempool"), 1u) << log.text();
  EXPECT_EQ(page_pool_mempool(pool), nullptr);
  EXPECT_EQ(stats(pool).cached, 0u);
  EXPECT_EQ(stats(pool).inflight, 0);
  EXPECT_EQ(page_pool_service(), 0u);
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kFar);
    page_pool_release(pool);
    page_pool_flush_returns(pool);
  }
  EXPECT_EQ(end(pool), 0);
  expect_all_home();
}

TEST_F(DyingTest, SeveralArenasAndPoolsInEveryOrder) {
  page_arena* arena = make_arena();
  for (const bool pages_first : {true, false}) {
    page_pool* first = make_pool(defaults(arena, "first"));
    page_pool* second = make_pool(defaults(arena, "second"));
    const Pages a = take(first, 10);
    const Pages b = take(second, 10);
    rte_mempool* of_a = page_pool_mempool(first);
    rte_mempool* of_b = page_pool_mempool(second);
    if (pages_first) put(first, a);
    page_pool_flush_returns(first);
    EXPECT_EQ(end(first), pages_first ? 0 : -EINPROGRESS);
    EXPECT_EQ(end(second), -EINPROGRESS);
    rte_mempool_put_bulk(of_b, b.data(), 10);
    if (!pages_first) rte_mempool_put_bulk(of_a, a.data(), 10);
    EXPECT_EQ(page_pool_service(), 0u);
    expect_all_home();
  }
}

// The last test of this file: the pool is kept for ever, and with it the arena.
TEST_F(DyingTest, TwiceReturnedPagesAreReportedOnceAndThePoolIsKept) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 2);
  rte_mempool* mempool = page_pool_mempool(pool);
  EXPECT_EQ(end(pool), -EINPROGRESS);
  const LogCapture log;
  for (int i = 0; i < 3; ++i)
    rte_mempool_put(mempool, pages[0]);
  EXPECT_EQ(walk().last.inflight, -1);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(page_pool_service(), 1u);
  EXPECT_EQ(log.count("pool pool: -1 pages in flight; pages were returned twice"), 1u)
      << log.text();
  EXPECT_STREQ(mempool->name, "pool");
  kept_for_ever_ = 1;
  arena_ = nullptr;
}

}  // namespace
}  // namespace nearpool::test
