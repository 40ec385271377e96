// SPDX-License-Identifier: BSD-3-Clause
// The order in which pages are handed out where another lcore brings them back: that in which they
// came back, so that neighbours stay neighbours however often they go round.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

constexpr unsigned kBurst = 32;

// How often the next page handed out is not the one that lies beside the last, either side.
unsigned breaks_in(const std::vector<void*>& pages) {
  std::map<intptr_t, unsigned> distances;
  for (std::size_t i = 1; i < pages.size(); ++i) {
    ++distances[std::abs(static_cast<char*>(pages[i]) - static_cast<char*>(pages[i - 1]))];
  }
  unsigned most = 0;
  for (const auto& [distance, times] : distances)
    most = std::max(most, times);
  return static_cast<unsigned>(pages.size()) - 1 - most;
}

class PageOrderTest : public PoolTest {
 protected:
  // `frames` pages go from the consumer to another lcore, which has up to `in_flight` of them.
  static Pages go_round(page_pool* pool, unsigned frames, unsigned in_flight,
                        std::deque<void*>& out) {
    Pages order;
    while (order.size() < frames) {
      {
        const AsLcore consumer(kConsumer);
        const Pages burst = take(pool, kBurst);
        order.insert(order.end(), burst.begin(), burst.end());
        out.insert(out.end(), burst.begin(), burst.end());
      }
      const AsLcore other(kOther);
      while (out.size() > in_flight) {
        rte_mempool_put(page_pool_mempool(pool), out.front());
        out.pop_front();
      }
      page_pool_flush_returns(pool);
    }
    return order;
  }
};

TEST_F(PageOrderTest, NeighboursStayNeighbours) {
  page_pool_params params = defaults(make_arena({.near_pages = 3000}));
  params.quota = 2000;
  page_pool* pool = make_pool(params);
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
  }
  std::deque<void*> out;
  // Bursts that go unevenly, as they do: what is gathered at a refill is never the same.
  for (unsigned i = 0; i < 400; ++i)
    go_round(pool, 3 * kBurst, kBurst * (1 + i * 7 % 5), out);
  const Pages order = go_round(pool, 1000, 3 * kBurst, out);
  // Where the first pages were not neighbours either; runs of one burst would be 32 and more.
  EXPECT_LE(breaks_in(order), 10u) << "of " << order.size();

  const AsLcore other(kOther);
  put(pool, Pages(out.begin(), out.end()));
  page_pool_flush_returns(pool);
  const AsLcore consumer(kConsumer);
  page_pool_release(pool);
  expect_books({{pool, 0}});
}

}  // namespace
}  // namespace nearpool::test
