// SPDX-License-Identifier: BSD-3-Clause
// Pages that are out: since when, and who has them.
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

struct Seen {
  std::map<const void*, page_pool_out> pages;
  int result = 0;
};

Seen pages_out(const page_pool* pool, uint64_t older_than_ms) {
  Seen seen;
  seen.result = page_pool_walk_out(
      pool, older_than_ms,
      [](const page_pool_out* out, void* argument) {
        static_cast<Seen*>(argument)->pages[out->page] = *out;
      },
      &seen);
  return seen;
}

class LeakWatchTest : public PoolTest {
 protected:
  page_pool* make(const char* name = "watched") {
    if (arena_ == nullptr) make_arena();
    page_pool_params params = defaults(arena_, name);
    params.flags = PAGE_POOL_F_LEAK_WATCH;
    return make_pool(params);
  }
  // Until all pages there are out are older than that.
  static void let_age(page_pool* pool, uint64_t milliseconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::size_t all = static_cast<std::size_t>(page_pool_inflight(pool));
    while (pages_out(pool, milliseconds).pages.size() < all) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "pages do not get older";
      std::this_thread::yield();
    }
  }
};

TEST_F(LeakWatchTest, NamesPagesAndTheLcoresThatHaveThem) {
  page_pool* pool = make();
  EXPECT_TRUE(stats(pool).hardened);
  Pages first;
  Pages second;
  Pages unregistered;
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
    first = take(pool, 40);
  }
  {
    const AsLcore other(kOther);
    second = take(pool, 7);
  }
  {
    const AsLcore none(LCORE_ID_ANY);
    unregistered = take(pool, 1);
  }
  let_age(pool, 5);
  const Seen seen = pages_out(pool, 5);
  ASSERT_EQ(seen.result, 0) << page_pool_error();
  EXPECT_EQ(seen.pages.size(), 48u);
  for (const auto& [pages, lcore] :
       {std::pair(&first, int{kConsumer}), std::pair(&second, int{kOther}),
        std::pair(&unregistered, -1)}) {
    for (const void* page : *pages) {
      ASSERT_EQ(seen.pages.count(page), 1u) << page;
      EXPECT_EQ(seen.pages.at(page).lcore, lcore);
      EXPECT_GT(seen.pages.at(page).age_ms, 5u);
      EXPECT_LT(seen.pages.at(page).age_ms, 60'000u);
    }
  }
  EXPECT_TRUE(pages_out(pool, 3'600'000).pages.empty()) << "nothing is out for an hour";

  // What comes back is not out any more, whoever brings it.
  put(pool, first);
  EXPECT_EQ(pages_out(pool, 5).pages.size(), 8u);
  {
    const AsLcore other(kThird);
    put(pool, second, 1);
    put(pool, unregistered, 1);
  }
  EXPECT_TRUE(pages_out(pool, 0).pages.empty());
  const AsLcore consumer(kConsumer);
  page_pool_release(pool);
}

TEST_F(LeakWatchTest, APageTakenAnewIsYoungAgain) {
  page_pool* pool = make();
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const Pages old = take(pool, 1);
  let_age(pool, 30);
  put(pool, old);
  const Pages again = take(pool, 1);
  ASSERT_EQ(again, old) << "the page that came back last is the first to go";
  const Seen seen = pages_out(pool, 0);
  for (const auto& entry : seen.pages)
    EXPECT_LT(entry.second.age_ms, 30u);
  put(pool, again);
  page_pool_release(pool);
}

TEST_F(LeakWatchTest, PoolsOfOneArenaAreKeptApart) {
  page_pool* left = make("left");
  page_pool* right = make("right");
  const AsLcore other(kOther);
  const Pages pages = take(left, 10);
  let_age(left, 3);
  EXPECT_EQ(pages_out(left, 3).pages.size(), 10u);
  EXPECT_TRUE(pages_out(right, 3).pages.empty());
  put(left, pages);
}

TEST_F(LeakWatchTest, APoolThatIsNotWatchedSaysSo) {
  page_pool* pool = make_pool(defaults(make_arena()));
  EXPECT_EQ(pages_out(pool, 0).result, -ENOTSUP);
  EXPECT_NE(std::string(page_pool_error()).find("PAGE_POOL_F_LEAK_WATCH"), std::string::npos);
  EXPECT_EQ(page_pool_set_flags(pool, PAGE_POOL_F_LEAK_WATCH, 0), -EINVAL);
}

}  // namespace
}  // namespace nearpool::test
