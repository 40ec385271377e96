// SPDX-License-Identifier: BSD-3-Clause
// Pools whose caches cannot be steered go without: each take and return is a driver call, and all
// else holds as it does with caches.
#include <rte_mbuf.h>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

static_assert(!compat::kCachesGoByThreshold);

class WithoutCachesTest : public PoolTest {};

TEST_F(WithoutCachesTest, EachTakeAndReturnIsADriverCall) {
  page_pool* pool = make_pool(defaults(make_arena()));
  EXPECT_EQ(stats(pool).cache_size, 0u);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const Pages pages = take(pool, 40);
  ASSERT_EQ(pages.size(), 40u);
  put(pool, pages, 1);
  EXPECT_EQ(stats(pool).alloc_slow, 40u);
  EXPECT_EQ(stats(pool).returns_single, 40u);
  EXPECT_EQ(stats(pool).cached, 0u);
  EXPECT_EQ(stats(pool).stashed, 40u);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(WithoutCachesTest, ForeignPagesAreRefusedAfterAMove) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const Pages pages = take(pool, 100);
  put(pool, Pages(pages.begin(), pages.begin() + 50));
  EXPECT_TRUE(page_pool_nid_changed(pool, kFar));
  EXPECT_TRUE(stats(pool).strict);
  {
    const AsLcore other(kOther);
    put(pool, Pages(pages.begin() + 50, pages.end()));
  }
  for (int poll = 0; poll < 10; ++poll)
    page_pool_nid_changed(pool, kFar);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  EXPECT_EQ(stats(pool).foreign_refused, 100u);
  EXPECT_FALSE(stats(pool).strict);
  const Pages far = take(pool, 30);
  EXPECT_EQ(count_on(kFar, far), 30u);
  put(pool, far);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(WithoutCachesTest, AProgramsOwnMempool) {
  rte_mempool* pool = rte_pktmbuf_pool_create_by_ops("own", 1024, 128, 0, 2176, 0, "page_pool");
  ASSERT_NE(pool, nullptr);
  for (const unsigned lcore : {kConsumer, kOther}) {
    const AsLcore as(lcore);
    for (const unsigned bulk : {1u, 32u, 200u}) {
      std::vector<rte_mbuf*> buffers(bulk);
      for (int round = 0; round < 50; ++round) {
        ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, buffers.data(), bulk), 0);
        EXPECT_EQ(rte_mempool_in_use_count(pool), bulk);
        rte_pktmbuf_free_bulk(buffers.data(), bulk);
      }
      EXPECT_EQ(pool->local_cache[lcore].len, 0u) << "nothing stays behind in a cache";
    }
  }
  EXPECT_TRUE(rte_mempool_full(pool));
  rte_mempool_free(pool);
}

}  // namespace
}  // namespace nearpool::test
