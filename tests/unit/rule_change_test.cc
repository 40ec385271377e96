// SPDX-License-Identifier: BSD-3-Clause
// What a consumer's cache holds when the rules or the consumer change between two polls.
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class RuleChangeTest : public PoolTest {
 protected:
  // A pool on the far node whose consumer's cache is full of near pages, since it kept foreign ones
  // until now; it has not polled since.
  page_pool* foreign_cache() {
    page_pool* pool = make_pool(defaults(make_arena()));
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    put(pool, take(pool, 32));
    EXPECT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_NO_FOREIGN_REJECT, 0), 0);
    page_pool_nid_changed(pool, kFar);
    EXPECT_GE(stats(pool).cached, 64u);
    EXPECT_EQ(stats(pool).owned_node[kFar], 0u);
    EXPECT_EQ(page_pool_set_flags(pool, 0, PAGE_POOL_F_NO_FOREIGN_REJECT), 0);
    return pool;
  }
};

TEST_F(RuleChangeTest, AConsumerThatLeavesPassesNoForeignPageOn) {
  page_pool* pool = foreign_cache();
  {
    const AsLcore consumer(kConsumer);
    page_pool_release(pool);
  }
  const AsLcore next(kOther);
  page_pool_nid_changed(pool, kFar);
  const Pages pages = take(pool, 150);
  EXPECT_EQ(count_on(kFar, pages), 150u);
  put(pool, pages);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

TEST_F(RuleChangeTest, ACacheThatOverflowsPassesNoForeignPageOn) {
  page_pool* pool = foreign_cache();
  Pages far;
  {
    const AsLcore other(kOther);
    far = take(pool, 60);
  }
  const AsLcore consumer(kConsumer);
  put(pool, far, 60);  // with the 64 of the cache more than it holds
  page_pool_nid_changed(pool, kFar);
  const Pages pages = take(pool, 150);
  EXPECT_EQ(count_on(kFar, pages), 150u);
  put(pool, pages);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

TEST_F(RuleChangeTest, AnOldConsumersNextReturnBringsItsCacheBack) {
  page_pool* pool = make_pool(defaults(make_arena()));
  Pages pages;
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    pages = take(pool, 10);
    ASSERT_EQ(stats(pool).cached, 64u);
  }
  {
    const AsLcore next(kOther);
    page_pool_nid_changed(pool, kNear);
  }
  {
    const AsLcore old(kConsumer);
    put(pool, {pages[0]});
    EXPECT_EQ(stats(pool).cached, 0u) << "neither kept nor gathered";
    EXPECT_EQ(stats(pool).ringed, 65u);
    put(pool, Pages(pages.begin() + 1, pages.end()), 1);
    EXPECT_EQ(stats(pool).cached, 9u) << "from now on it gathers a bulk";
    page_pool_flush_returns(pool);
  }
  const AsLcore next(kOther);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

}  // namespace
}  // namespace nearpool::test
