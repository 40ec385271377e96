// SPDX-License-Identifier: BSD-3-Clause
// A queue pool on one node: takes, returns, bulk returns, books.
#include <algorithm>
#include <set>
#include <thread>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class QueuePoolTest : public PoolTest {};

TEST_F(QueuePoolTest, TakesFromItsNodeAndGivesBack) {
  page_pool* pool = make_pool(defaults(make_arena()));
  expect_books({{pool, 0}});
  {
    const AsLcore consumer(kConsumer);
    EXPECT_FALSE(page_pool_nid_changed(pool, kNear));
    const Pages pages = take(pool, 100);
    ASSERT_EQ(pages.size(), 100u);
    EXPECT_EQ(count_on(kNear, pages), 100u);
    EXPECT_EQ(std::set<void*>(pages.begin(), pages.end()).size(), 100u);
    expect_books({{pool, 100}});
    put(pool, pages);
    expect_books({{pool, 0}});
    EXPECT_FALSE(stats(pool).strict);
    page_pool_release(pool);
  }
  EXPECT_EQ(stats(pool).consumer, -1);
  EXPECT_EQ(stats(pool).cached, 0u);
}

TEST_F(QueuePoolTest, TakenPagesAreGoodBuffers) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  rte_mbuf* buffers[8];
  ASSERT_EQ(page_pool_alloc_bulk(pool, buffers, 8), 0);
  for (rte_mbuf* buffer : buffers) {
    EXPECT_EQ(buffer->pool, page_pool_mempool(pool));
    EXPECT_EQ(rte_pktmbuf_tailroom(buffer), 2176 - RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(buffer->data_off, RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(rte_mempool_from_obj(buffer), page_pool_mempool(pool));
    EXPECT_EQ(rte_mempool_virt2iova(buffer) + sizeof(rte_mbuf), rte_mbuf_iova_get(buffer));
    const char* reason = nullptr;
    EXPECT_EQ(rte_mbuf_check(buffer, 1, &reason), 0) << reason;
  }
  rte_pktmbuf_free_bulk(buffers, 8);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, AnyNumberFromOneToTheQuota) {
  page_pool_params params = defaults(make_arena());
  params.quota = 300;
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  for (unsigned n = 1; n <= 300; ++n) {
    const Pages pages = take(pool, n);
    ASSERT_EQ(pages.size(), n);
    expect_books({{pool, n}});
    put(pool, pages, n);
    expect_books({{pool, 0}});
  }
  EXPECT_TRUE(take(pool, 301).empty());
  expect_books({{pool, 0}});
  const Pages all = take(pool, 300);
  EXPECT_EQ(all.size(), 300u) << "what a refused take leaves must be there";
  expect_books({{pool, 300}});
  EXPECT_TRUE(take(pool, 1).empty());
  EXPECT_GT(stats(pool).quota_refused, 0u);
  put(pool, all);
  page_pool_release(pool);
}

// The kernel's refill loop once overflowed its cache when it was entered half full.
TEST_F(QueuePoolTest, RefillAtEveryFillLevelOfTheCache) {
  page_pool* pool = make_pool(defaults(make_arena()));
  rte_mempool* mempool = page_pool_mempool(pool);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  rte_mempool_cache* cache = rte_mempool_default_cache(mempool, kConsumer);
  for (unsigned level = 0; level <= 96; ++level) {
    for (const unsigned n : {1u, 31u, 32u, 64u, 97u, 128u}) {
      Pages held = take(pool, 200);
      ASSERT_EQ(held.size(), 200u);
      while (cache->len != 0) {
        const Pages one = take(pool, std::min(cache->len, 96u));
        held.insert(held.end(), one.begin(), one.end());
      }
      const Pages filling(held.end() - level, held.end());
      held.resize(held.size() - level);
      put(pool, filling, 1);
      ASSERT_EQ(cache->len, level);
      const Pages more = take(pool, n);
      ASSERT_EQ(more.size(), n) << "at level " << level;
      ASSERT_LE(cache->len, 96u);
      expect_books({{pool, held.size() + n}});
      put(pool, more);
      put(pool, held);
      expect_books({{pool, 0}});
    }
  }
  page_pool_release(pool);
}

TEST_F(QueuePoolTest, OtherLcoresGatherABulkAndFlush) {
  page_pool* pool = make_pool(defaults(make_arena()));
  Pages pages;
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    pages = take(pool, 100);
  }
  {
    const AsLcore other(kOther);
    put(pool, Pages(pages.begin(), pages.begin() + 31), 1);
    EXPECT_EQ(stats(pool).ringed, 0u) << "gathered, not returned yet";
    EXPECT_EQ(stats(pool).cached, 64u + 31u);
    put(pool, Pages(pages.begin() + 31, pages.begin() + 33), 1);
    EXPECT_EQ(stats(pool).ringed, 31u) << "what was gathered left as one";
    EXPECT_EQ(stats(pool).returns_bulk, 1u);
    EXPECT_EQ(stats(pool).returns_single, 0u);
    page_pool_flush_returns(pool);
    EXPECT_EQ(stats(pool).ringed, 33u);
    expect_books({{pool, 67}});
    put(pool, Pages(pages.begin() + 33, pages.end()), 64);
    page_pool_flush_returns(pool);
    EXPECT_EQ(stats(pool).ringed, 100u);
  }
  {
    const AsLcore consumer(kConsumer);
    page_pool_flush_returns(pool);
    EXPECT_EQ(stats(pool).cached, 64u) << "the consumer's cache is no gathered return";
    const uint64_t from_arena = stats(pool).alloc_arena;
    const Pages cached = take(pool, 64);
    put(pool, take(pool, 36));  // a refill of the cache's 64, and 36
    put(pool, cached);
    EXPECT_EQ(stats(pool).alloc_arena, from_arena) << "the ring serves before the arena does";
    EXPECT_EQ(stats(pool).ringed, 0u);
    page_pool_release(pool);
  }
  expect_books({{pool, 0}});
}

// A large pool leaves the last pages to come back in the ring, as long as there are others.
TEST_F(QueuePoolTest, ReturnedPagesRestWhileThereAreOthers) {
  page_pool_params params = defaults(make_arena({.near_pages = 1600}));
  params.quota = 1200;  // 900 may rest
  params.cache_size = 0;
  page_pool* pool = make_pool(params);
  Pages pages;
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    pages = take(pool, 1000);
  }
  const auto give_back = [&](unsigned n) {
    const AsLcore other(kOther);
    put(pool, Pages(pages.end() - n, pages.end()));
    pages.resize(pages.size() - n);
  };
  const AsLcore consumer(kConsumer);
  give_back(900);
  const Pages rested = take(pool, 100);
  EXPECT_EQ(stats(pool).ringed, 900u);
  EXPECT_EQ(stats(pool).alloc_arena, 1100u) << "they rest, the arena serves";
  give_back(50);
  const Pages oldest = take(pool, 50);
  EXPECT_EQ(stats(pool).ringed, 900u) << "what is above leaves, the oldest first";
  EXPECT_EQ(stats(pool).alloc_arena, 1100u);
  const Pages rest = take(pool, 1000);
  EXPECT_EQ(rest.size(), 1000u) << "and all of them, when the quota leaves no others";
  EXPECT_EQ(stats(pool).ringed, 0u);
  expect_books({{pool, 1200}});
  for (const Pages& held : {pages, rested, oldest, rest})
    put(pool, held);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, WithoutBulkReturnEachFreeIsADriverCall) {
  page_pool_params params = defaults(make_arena());
  params.flags = PAGE_POOL_F_NO_BULK_RETURN;
  page_pool* pool = make_pool(params);
  const Pages pages = take(pool, 40);
  {
    const AsLcore other(kOther);
    put(pool, pages, 1);
  }
  EXPECT_EQ(stats(pool).returns_single, 40u);
  EXPECT_EQ(stats(pool).ringed, 40u);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, WhatTheRingHasNoRoomForGoesHome) {
  page_pool_params params = defaults(make_arena());
  params.ring_size = 64;  // a ring of 128 slots holds 127
  page_pool* pool = make_pool(params);
  const uint32_t capacity = stats(pool).ring_size;
  Pages pages = take(pool, 300);
  const AsLcore other(kOther);
  put(pool, pages, 300);
  EXPECT_EQ(stats(pool).ringed, capacity);
  EXPECT_EQ(stats(pool).recycle_ring, capacity);
  EXPECT_EQ(stats(pool).recycle_ring_full, 300 - capacity);
  EXPECT_EQ(stats(pool).released, 300 - capacity);
  EXPECT_EQ(stats(pool).owned, capacity);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, WhatTheStashHasNoRoomForGoesHome) {
  page_pool_params params = defaults(make_arena());
  params.stash_size = 64;
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  put(pool, take(pool, 400));
  EXPECT_EQ(stats(pool).stashed, 64u);
  EXPECT_LE(stats(pool).cached, 96u);
  EXPECT_EQ(stats(pool).released, stats(pool).released_surplus);
  EXPECT_EQ(stats(pool).owned, stats(pool).stashed + stats(pool).cached);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(QueuePoolTest, ThreadsWithoutALcoreIdReturnAndTake) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages pages = take(pool, 50);
  std::thread([&] {
    ASSERT_EQ(rte_lcore_id(), LCORE_ID_ANY);
    put(pool, pages, 7);
    put(pool, take(pool, 20), 1);
  }).join();
  EXPECT_EQ(stats(pool).returns_unregistered, 70u);
  EXPECT_EQ(stats(pool).cached, 0u);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, ALcoreThatDoesNotPollKeepsNone) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore filler(kOther);
  Pages pages;
  for (int i = 0; i < 100; ++i)
    pages.push_back(take(pool, 1).at(0));
  EXPECT_EQ(stats(pool).cached, 0u);
  EXPECT_EQ(stats(pool).owned, 100u);
  EXPECT_EQ(stats(pool).takes_other, 100u);
  put(pool, pages, 64);
  page_pool_flush_returns(pool);
  EXPECT_EQ(stats(pool).cached, 0u);
  expect_books({{pool, 0}});
}

TEST_F(QueuePoolTest, SmallWorkingSetStaysSmall) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  for (int i = 0; i < 10'000; ++i)
    put(pool, take(pool, 32));
  EXPECT_LE(stats(pool).owned, 64u + 32u) << "takes from the arena only what it needs";
  page_pool_release(pool);
}

TEST_F(QueuePoolTest, TheQuotaHoldsAndMayShrink) {
  page_pool_params params = defaults(make_arena());
  params.quota = 256;
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const Pages pages = take(pool, 200);
  EXPECT_TRUE(take(pool, 200).empty());
  EXPECT_EQ(stats(pool).owned, 200u) << "a refused take gives back what it took for nothing";
  ASSERT_EQ(page_pool_set_quota(pool, 100), 0);
  page_pool_nid_changed(pool, kNear);
  put(pool, pages);
  EXPECT_LE(stats(pool).owned, 100u);
  EXPECT_GE(stats(pool).released_surplus, 100u);
  page_pool_nid_changed(pool, kNear);
  EXPECT_FALSE(stats(pool).strict) << "nothing to refuse any more";
  expect_books({{pool, 0}});
  EXPECT_EQ(page_pool_set_quota(pool, 0), -EINVAL);
  EXPECT_EQ(page_pool_error(), "pool pool: quota 0 is not in 1 to " + std::to_string(created()) +
                                   ", the pages of arena test");
  page_pool_release(pool);
}

TEST_F(QueuePoolTest, AQuotaOfOnePage) {
  page_pool_params params = defaults(make_arena());
  params.quota = 1;
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  for (int i = 0; i < 10; ++i) {
    const Pages one = take(pool, 1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_TRUE(take(pool, 1).empty());
    put(pool, one);
  }
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(QueuePoolTest, PagesMoveBetweenPoolsOfOneArena) {
  page_arena* arena = make_arena({.near_pages = 800, .far_pages = 0});
  page_pool_params params = defaults(arena, "first");
  params.quota = created();
  const uint32_t all = created();
  page_pool* first = make_pool(params);
  params.name = "second";
  page_pool* second = make_pool(params);
  const Pages pages = take(first, all);
  ASSERT_EQ(pages.size(), all);
  EXPECT_TRUE(take(second, 1).empty());
  put(first, pages, all);
  destroy(first);
  const Pages again = take(second, all);
  ASSERT_EQ(again.size(), all) << "what the first pool gave back is there";
  for (void* page : again) {
    ASSERT_EQ(static_cast<rte_mbuf*>(page)->pool, page_pool_mempool(second));
    ASSERT_EQ(rte_mempool_from_obj(page), page_pool_mempool(second));
  }
  put(second, again, all);
  expect_books({{second, 0}});
}

TEST_F(QueuePoolTest, TakeoverLeavesTheOldCacheUntilItsOwnerReturns) {
  page_pool* pool = make_pool(defaults(make_arena()));
  Pages pages;
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    pages = take(pool, 10);
  }
  EXPECT_EQ(stats(pool).cached, 64u);
  {
    const AsLcore next(kOther);
    page_pool_nid_changed(pool, kNear);
    EXPECT_EQ(stats(pool).consumer, static_cast<int>(kOther));
    EXPECT_EQ(stats(pool).takeovers, 1u);
    put(pool, take(pool, 10));
  }
  {
    const AsLcore old(kConsumer);
    put(pool, pages, 1);
    page_pool_flush_returns(pool);
    EXPECT_EQ(rte_mempool_default_cache(page_pool_mempool(pool), kConsumer)->size, 0u);
  }
  {
    const AsLcore next(kOther);
    page_pool_release(pool);
  }
  EXPECT_EQ(stats(pool).cached, 0u);
  expect_books({{pool, 0}});
}

}  // namespace
}  // namespace nearpool::test
