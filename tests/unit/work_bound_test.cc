// SPDX-License-Identifier: BSD-3-Clause
// How much work one step of a move is: a lcore that leaves a queue, and each poll of the one that
// takes it. Pages are counted, not time: whatever is stashed, ringed and cached, a step looks at no
// more of them than its bound.
#include <ostream>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

constexpr uint32_t kPerPoll = 256;  // of the stash, and of the ring

// What a pool holds when its queue moves, in pages.
struct Fill {
  uint32_t cache_size;
  uint32_t stashed;
  uint32_t ringed;
};
void PrintTo(const Fill& fill, std::ostream* out) {
  *out << fill.stashed << " stashed, " << fill.ringed << " ringed, cache of " << fill.cache_size;
}

class WorkBoundTest : public PoolTest, public testing::WithParamInterface<Fill> {
 protected:
  static constexpr uint32_t kQuota = 5000;

  // A pool of near pages with a full cache, polled by kConsumer on the near node.
  page_pool* filled() {
    page_pool_params params = defaults(make_arena({.near_pages = 6000, .far_pages = 6000}));
    params.quota = kQuota;
    params.cache_size = GetParam().cache_size;
    page_pool* pool = make_pool(params);
    Pages ringed;
    {
      const AsLcore consumer(kConsumer);
      page_pool_nid_changed(pool, kNear);
      ringed = take(pool, GetParam().ringed);
      const uint32_t room = params.cache_size + params.cache_size / 2;
      put(pool, take(pool, GetParam().stashed + room), 64);
    }
    const AsLcore other(kOther);
    put(pool, ringed, 64);
    page_pool_flush_returns(pool);
    return pool;
  }
  static uint32_t most_cached() { return GetParam().cache_size + GetParam().cache_size / 2; }

  // Pages that the pool has looked at or moved since `before`, the copy of pointers left out.
  static uint64_t work_since(const page_pool_stats& before, const page_pool_stats& now) {
    const auto ring = static_cast<uint64_t>(std::max<int64_t>(
        0, static_cast<int64_t>(before.ringed) - static_cast<int64_t>(now.ringed)));
    return now.flushed - before.flushed + now.alloc_arena - before.alloc_arena + ring;
  }

  // Polls on the far node until no page is left on the near one. `floats`: the cache is full then,
  // and goes in the first poll.
  void follow_in_bounded_polls(page_pool* pool, bool floats) {
    const uint32_t held = stats(pool).owned;
    unsigned polls = 0;
    do {
      const page_pool_stats before = stats(pool);
      page_pool_nid_changed(pool, kFar);
      const page_pool_stats after = stats(pool);
      EXPECT_TRUE(!floats || after.cached == 0) << after.cached << " cached";
      const uint32_t most = 2 * kPerPoll + (floats ? before.cached : 0);
      EXPECT_LE(work_since(before, after), most) << "poll " << polls;
      EXPECT_LE(after.released - before.released, most) << "poll " << polls;
      ASSERT_LE(++polls, held / kPerPoll + 2);
    } while (stats(pool).owned_foreign != 0);
  }
};

TEST_P(WorkBoundTest, LeavingLooksAtNoPage) {
  page_pool* pool = filled();
  const page_pool_stats before = stats(pool);
  const Pages stash(QueuePoolProbe::stash(pool).begin(), QueuePoolProbe::stash(pool).end());
  {
    const AsLcore consumer(kConsumer);
    page_pool_release(pool);
  }
  const page_pool_stats after = stats(pool);
  EXPECT_EQ(work_since(before, after), 0u);
  EXPECT_EQ(after.released, before.released);
  EXPECT_EQ(after.ringed, before.ringed);
  EXPECT_LE(before.cached, most_cached());
  EXPECT_EQ(after.stashed, before.stashed + before.cached);
  EXPECT_TRUE(std::equal(stash.begin(), stash.end(), QueuePoolProbe::stash(pool).begin()));
  expect_books({{pool, 0}});
}

// The rules change and the lcore leaves before it has polled again: the cache is full of pages that
// are not good any more, and so are stash and ring.
TEST_P(WorkBoundTest, NorWhenAllItHoldsIsToBeRefused) {
  page_pool* pool = filled();
  EXPECT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_NO_FOREIGN_REJECT, 0), 0);
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kFar);
    EXPECT_EQ(page_pool_set_flags(pool, 0, PAGE_POOL_F_NO_FOREIGN_REJECT), 0);
    const page_pool_stats before = stats(pool);
    page_pool_release(pool);
    const page_pool_stats after = stats(pool);
    EXPECT_EQ(work_since(before, after), 0u);
    EXPECT_EQ(after.released, before.released);
    EXPECT_EQ(after.stashed, before.stashed + before.cached);
  }
  // And yet none of them is handed out by the next one.
  const AsLcore next(kThird);
  page_pool_nid_changed(pool, kFar);
  const Pages pages = take(pool, 100);
  EXPECT_EQ(count_on(kFar, pages), 100u);
  put(pool, pages);
  while (stats(pool).owned_foreign != 0)
    page_pool_nid_changed(pool, kFar);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

TEST_P(WorkBoundTest, EachPollOfTheNextOneIsBounded) {
  page_pool* pool = filled();
  {
    const AsLcore consumer(kConsumer);
    page_pool_release(pool);
  }
  const AsLcore next(kThird);
  follow_in_bounded_polls(pool, false);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

// A lcore that floats to another node with a full cache: gets reach that inline, so it cannot stay.
TEST_P(WorkBoundTest, EachPollOfALcoreThatFloatsIsBounded) {
  page_pool* pool = filled();
  const AsLcore consumer(kConsumer);
  follow_in_bounded_polls(pool, true);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

INSTANTIATE_TEST_SUITE_P(Fills, WorkBoundTest,
                         testing::Values(Fill{64, 0, 0}, Fill{64, 300, 0}, Fill{64, 0, 300},
                                         Fill{64, 2400, 2400}, Fill{512, 0, 0}, Fill{512, 1000, 1},
                                         Fill{512, 1, 3000}, Fill{512, 2100, 2100}));

}  // namespace
}  // namespace nearpool::test
