// SPDX-License-Identifier: BSD-3-Clause
// Watermarks, pressure pages, surplus, and the toggles that switch each idea off.
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class PressureTest : public PoolTest {
 protected:
  void poll(page_pool* pool, int node = kNear) { page_pool_nid_changed(pool, node); }
};

TEST_F(PressureTest, PressurePagesAreNotKept) {
  page_arena* arena = make_arena({.min = 100, .low = 200, .high = 300});
  page_pool_params params = defaults(arena);
  params.quota = created();
  page_pool* pool = make_pool(params);
  const uint32_t near_pages = node_stats(arena, 0).pages;
  const AsLcore consumer(kConsumer);
  poll(pool);
  // To min exactly: no pressure yet. A lcore that is not the consumer takes what it asks for.
  Pages calm;
  Pages pressed;
  {
    const AsLcore other(kOther);
    calm = take(pool, near_pages - 100);
    EXPECT_EQ(stats(pool).owned_pressure, 0u);
    EXPECT_EQ(node_stats(arena, 0).below_low, 1u);
    EXPECT_EQ(node_stats(arena, 0).below_min, 0u);
    EXPECT_FALSE(stats(pool).strict);
    pressed = take(pool, 10);
  }
  EXPECT_EQ(node_stats(arena, 0).below_min, 1u);
  EXPECT_EQ(stats(pool).owned_pressure, 10u);
  EXPECT_EQ(stats(pool).alloc_pressure, 10u);
  EXPECT_EQ(node_stats(arena, 0).pressure_out, 10u);
  EXPECT_TRUE(stats(pool).strict);
  put(pool, Pages(pressed.begin(), pressed.begin() + 4));
  EXPECT_EQ(stats(pool).pressure_refused, 4u);
  EXPECT_EQ(stats(pool).owned_pressure, 6u);
  EXPECT_EQ(node_stats(arena, 0).free, 94u);
  // Hysteresis: under pressure until low, not min, is reached.
  Pages more;
  {
    const AsLcore other(kOther);
    put(pool, Pages(pressed.begin() + 4, pressed.end()), 64);
    page_pool_flush_returns(pool);
    EXPECT_EQ(node_stats(arena, 0).free, 100u);
    more = take(pool, 5);
  }
  EXPECT_EQ(stats(pool).owned_pressure, 5u) << "above min but below low: still under pressure";
  put(pool, more);
  EXPECT_EQ(stats(pool).owned_pressure, 0u);
  put(pool, calm);
  for (int i = 0; i < 20; ++i)
    poll(pool);
  EXPECT_FALSE(stats(pool).strict);
  EXPECT_FALSE(node_stats(arena, 0).asking) << "surplus went home until high was reached";
  EXPECT_GE(node_stats(arena, 0).free, 300u);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(PressureTest, ForcedPressureShowsItAtWork) {
  page_arena* arena = make_arena();
  page_pool* pool = make_pool(defaults(arena));
  const AsLcore consumer(kConsumer);
  poll(pool);
  ASSERT_EQ(page_arena_force_pressure(arena, kNear, true), 0);
  const Pages pages = take(pool, 40);
  ASSERT_EQ(pages.size(), 40u);
  EXPECT_EQ(stats(pool).owned_pressure, 40u);
  ASSERT_EQ(page_arena_force_pressure(arena, kNear, false), 0);
  put(pool, pages);
  EXPECT_EQ(stats(pool).pressure_refused, 40u);
  EXPECT_EQ(stats(pool).owned, 0u);
  EXPECT_EQ(page_arena_force_pressure(arena, kMemoryless, true), -EINVAL);
  EXPECT_STREQ(page_pool_error(), "arena test has no pages on node 3");
  page_pool_release(pool);
}

TEST_F(PressureTest, TogglesMakeTheDifference) {
  page_arena* arena = make_arena();
  page_pool* pool = make_pool(defaults(arena));
  const AsLcore consumer(kConsumer);
  poll(pool);
  const Pages out = take(pool, 100);
  ASSERT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_NO_NODE_FOLLOW, 0), 0);
  EXPECT_FALSE(page_pool_nid_changed(pool, kFar));
  EXPECT_EQ(stats(pool).nid, kNear);
  ASSERT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_NO_FOREIGN_REJECT, PAGE_POOL_F_NO_NODE_FOLLOW),
            0);
  EXPECT_TRUE(page_pool_nid_changed(pool, kFar));
  EXPECT_FALSE(stats(pool).strict) << "nothing is refused";
  put(pool, out);
  const Pages again = take(pool, 100);
  EXPECT_EQ(count_on(kNear, again), 100u) << "pages stay foreign for ever";
  put(pool, again);
  EXPECT_EQ(stats(pool).foreign_refused, 0u);

  // Back on: what is cached and stashed is looked at, with no further move.
  ASSERT_EQ(page_pool_set_flags(pool, 0, PAGE_POOL_F_NO_FOREIGN_REJECT), 0);
  for (int i = 0; i < 4; ++i)
    poll(pool, kFar);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  const Pages local = take(pool, 100);
  EXPECT_EQ(count_on(kFar, local), 100u);
  put(pool, local);

  ASSERT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_NO_PRESSURE_REJECT, 0), 0);
  page_arena_force_pressure(arena, kFar, true);
  const Pages pressed = take(pool, 300);
  ASSERT_EQ(pressed.size(), 300u);
  ASSERT_GT(stats(pool).owned_pressure, 0u);
  page_arena_force_pressure(arena, kFar, false);
  put(pool, pressed);
  EXPECT_EQ(stats(pool).pressure_refused, 0u);
  EXPECT_GT(stats(pool).owned_pressure, 0u) << "kept under pressure";
  EXPECT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_HARDENED, 0), -EINVAL);
  page_pool_release(pool);
}

}  // namespace
}  // namespace nearpool::test
