// SPDX-License-Identifier: BSD-3-Clause
// Mempools that a program makes without knowing of the pool: rte_pktmbuf_pool_create_by_ops().
#include "page_pool/shared_pool.hpp"

#include <rte_errno.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "log_capture.hpp"
#include "page_pool/shared_watcher.hpp"
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

using Pages = std::vector<void*>;

// lcores 0 to 3 are on node 0, the others on node 8.
void map_lcores(const char* map) {
  auto topology = numa::Topology::from_lcore_map(map, numa::system_topology());
  ASSERT_TRUE(topology) << topology.error().message;
  ASSERT_TRUE(numa::use_topology(std::move(*topology)));
}
void use_nodes_by_lcore() {
  map_lcores("0:0,1:0,2:0,3:0,4:8,5:8,6:8,7:8");
}

class SharedPoolTest : public testing::Test {
 protected:
  static constexpr unsigned kNearLcore = 1;
  static constexpr unsigned kOtherNearLcore = 2;
  static constexpr unsigned kFarLcore = 4;

  void TearDown() override {
    rte_mempool_free(mempool_);
    unsetenv("PAGE_POOL");
  }

  rte_mempool* make(unsigned n, unsigned cache, const char* options = "") {
    setenv("PAGE_POOL", options, 1);
    mempool_ =
        rte_pktmbuf_pool_create_by_ops("shared", n, cache, 0, 2176, SOCKET_ID_ANY, "page_pool");
    return mempool_;
  }
  SharedPool& pool() {
    return *static_cast<SharedPool*>(static_cast<PoolData*>(mempool_->pool_data));
  }
  Pages take(unsigned n) {
    Pages pages(n);
    if (rte_mempool_get_bulk(mempool_, pages.data(), n) != 0) pages.clear();
    return pages;
  }
  void put(const Pages& pages, unsigned bulk = 32) {
    for (std::size_t i = 0; i < pages.size(); i += bulk) {
      rte_mempool_put_bulk(mempool_, pages.data() + i,
                           static_cast<unsigned>(std::min<std::size_t>(bulk, pages.size() - i)));
    }
  }
  rte_mempool_cache* cache(unsigned lcore) { return rte_mempool_default_cache(mempool_, lcore); }
  int node_of(void* page) { return pool().arena().id_of(pool().arena().node_of(page)); }

  rte_mempool* mempool_ = nullptr;
};

// The last pool to go ends the watching thread, and does not wait for one that is there for the
// next pool. A failure is a test that does not end.
TEST_F(SharedPoolTest, IsLeftByTheWatcherWhileAnotherPoolComes) {
  use_nodes_by_lcore();
  ASSERT_NE(make(64, 0), nullptr);
  ASSERT_TRUE(pool().has_several_nodes());
  SharedPool* first = &pool();
  rte_mempool* other =
      rte_pktmbuf_pool_create_by_ops("other", 64, 0, 0, 2176, SOCKET_ID_ANY, "page_pool");
  ASSERT_NE(other, nullptr);
  auto* second = static_cast<SharedPool*>(static_cast<PoolData*>(other->pool_data));
  shared_watcher::remove(second);
  for (unsigned i = 0; i < 300; ++i) {
    std::thread coming([second] { shared_watcher::add(second); });
    shared_watcher::remove(first);
    coming.join();
    shared_watcher::add(first);
    shared_watcher::remove(second);
  }
  rte_mempool_free(other);
}

TEST_F(SharedPoolTest, IsWholeAndGivesGoodBuffers) {
  ASSERT_NE(make(1023, 64), nullptr) << rte_strerror(rte_errno);
  EXPECT_TRUE(rte_mempool_full(mempool_));
  const Pages pages = take(1023);
  ASSERT_EQ(pages.size(), 1023u);
  EXPECT_EQ(std::set<void*>(pages.begin(), pages.end()).size(), 1023u);
  EXPECT_TRUE(take(1).empty());
  const char* reason = nullptr;
  for (void* page : pages)
    ASSERT_EQ(rte_mbuf_check(static_cast<rte_mbuf*>(page), 1, &reason), 0) << reason;
  put(pages);
  EXPECT_TRUE(rte_mempool_full(mempool_)) << "caches are counted";
}

TEST_F(SharedPoolTest, TinyPools) {
  for (const unsigned n : {1u, 2u, 31u}) {
    for (const unsigned cache_size : {0u, 1u, 20u}) {
      if (cache_size * 3 / 2 > n) continue;
      SCOPED_TRACE(std::to_string(n) + " buffers, cache " + std::to_string(cache_size));
      ASSERT_NE(make(n, cache_size), nullptr) << rte_strerror(rte_errno);
      const Pages pages = take(n);
      ASSERT_EQ(pages.size(), n);
      {
        const AsLcore other(kOtherNearLcore);
        put(pages, 1);
        // No more stays behind on a lcore that only returns than would in the stock cache.
        if (cache_size != 0) {
          EXPECT_LE(cache(kOtherNearLcore)->len, cache_size * 3 / 2);
        }
        EXPECT_TRUE(rte_mempool_full(mempool_));
        if (cache_size != 0) rte_mempool_cache_flush(cache(kOtherNearLcore), mempool_);
      }
      const Pages again = take(n);
      EXPECT_EQ(again.size(), n);
      put(again, 1);
      rte_mempool_free(mempool_);
      mempool_ = nullptr;
    }
  }
}

TEST_F(SharedPoolTest, AtMostABulkStaysOnALcoreThatReturns) {
  ASSERT_NE(make(1023, 256), nullptr);
  const Pages pages = take(1000);
  {
    const AsLcore other(kOtherNearLcore);
    for (void* page : pages) {
      put({page});
      ASSERT_LE(cache(kOtherNearLcore)->len, 32u);
    }
  }
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

// Filling an RX ring at start must not leave the main lcore with a cache of the pool's pages.
TEST_F(SharedPoolTest, TheMainLcoreFillingKeepsNone) {
  ASSERT_NE(make(1023, 256), nullptr);
  Pages pages;
  for (unsigned i = 0; i < 512; ++i) {
    pages.push_back(take(1).at(0));
    ASSERT_EQ(cache(rte_get_main_lcore())->len, 0u);
  }
  // One that goes on and on is a consumer, and may keep some.
  for (unsigned i = 0; i < 3000; ++i) {
    put(pages);
    pages = take(512);
  }
  put(pages);
  EXPECT_GT(cache(rte_get_main_lcore())->size, 0u);
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

TEST_F(SharedPoolTest, UnregisteredThreads) {
  ASSERT_NE(make(511, 64), nullptr);
  std::thread([this] {
    const Pages pages = take(300);
    ASSERT_EQ(pages.size(), 300u);
    put(pages, 7);
  }).join();
  EXPECT_EQ(pool().count(Counter::kReturnsUnregistered), 300u);
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

// A refused refill may not touch a cache that the pool does not know of.
TEST_F(SharedPoolTest, ACacheOfTheProgramsOwnStaysIntact) {
  ASSERT_NE(make(100, 0), nullptr);
  rte_mempool_cache* own = rte_mempool_cache_create(32, 0);
  Pages out(95);
  ASSERT_EQ(rte_mempool_generic_get(mempool_, out.data(), 60, own), 0);
  ASSERT_EQ(own->len, 32u);
  const Pages before(own->objs, own->objs + own->len);
  Pages table(50);
  EXPECT_LT(rte_mempool_generic_get(mempool_, table.data(), 50, own), 0) << "8 + 32 are there";
  EXPECT_EQ(Pages(own->objs, own->objs + own->len), before);
  EXPECT_EQ(rte_mempool_generic_get(mempool_, out.data() + 60, 35, own), 0);
  std::sort(out.begin(), out.end());
  EXPECT_EQ(std::adjacent_find(out.begin(), out.end()), out.end()) << "no page twice";
  put(out);
  rte_mempool_cache_flush(own, mempool_);
  rte_mempool_cache_free(own);
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

TEST_F(SharedPoolTest, HardenedReportsMisuse) {
  ASSERT_NE(make(255, 64, "hardened"), nullptr);
  const Pages pages = take(4);
  const LogCapture log;
  int somewhere = 0;
  put({pages[0], pages[0], &somewhere});
  EXPECT_EQ(pool().count(Counter::kMisuse), 2u);
  EXPECT_EQ(log.count("mempool shared: " + address_text(pages[0]) +
                      ", returned by lcore 0, was not "
                      "out: it was returned twice"),
            1u)
      << log.text();
  EXPECT_EQ(log.count(address_text(&somewhere) + ", returned by lcore 0, is no page of it"), 1u);
  put({pages[1], pages[2], pages[3]});
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

TEST_F(SharedPoolTest, EachBadWordHasItsSentence) {
  const struct {
    const char* options;
    const char* sentence;
  } cases[] = {
      {"bulk=3", "PAGE_POOL: bulk '3' is not a number from 4 to 512"},
      {"bulk=513", "PAGE_POOL: bulk '513' is not a number from 4 to 512"},
      {"bulk=", "PAGE_POOL: bulk '' is not a number from 4 to 512"},
      {"bulk=8x", "PAGE_POOL: bulk '8x' is not a number from 4 to 512"},
      {"hardened=1", "PAGE_POOL: 'hardened=1' is not known; allowed are bulk=4..512"},
      {"hardened,,bulk=8", "PAGE_POOL: '' is not known"},
      {"numa-map=", "PAGE_POOL: 'numa-map=' is not known"},
      {"Hardened", "PAGE_POOL: 'Hardened' is not known"},
  };
  for (const auto& c : cases) {
    const LogCapture log;
    EXPECT_EQ(make(63, 0, c.options), nullptr) << c.options;
    EXPECT_EQ(log.count(c.sentence), 1u) << c.options << ": " << log.text();
    EXPECT_EQ(rte_mempool_lookup("shared"), nullptr);
  }
  EXPECT_NE(make(63, 0, "bulk=4,no-foreign-reject,"), nullptr);
}

// ---- two emulated nodes; from here on the process stays with them

TEST_F(SharedPoolTest, TwoNodesUniformThenMixedThenSettled) {
  use_nodes_by_lcore();
  ASSERT_NE(make(1023, 64), nullptr) << rte_strerror(rte_errno);
  ASSERT_TRUE(pool().has_several_nodes());
  EXPECT_EQ(pool().mode(), 0u) << "nothing is out: uniform";
  Pages near;
  {
    const AsLcore lcore(kNearLcore);
    near = take(100);
    for (void* page : near)
      ASSERT_EQ(node_of(page), 0);
    EXPECT_EQ(pool().mode(), 0u);
    EXPECT_NE(cache(kNearLcore)->flushthresh, 0u) << "puts are inline";
  }
  Pages far;
  {
    const AsLcore lcore(kFarLcore);
    far = take(100);
    for (void* page : far)
      ASSERT_EQ(node_of(page), 8);
  }
  EXPECT_EQ(pool().mode(), SharedPool::kMixed);
  EXPECT_EQ(cache(kNearLcore)->flushthresh, 0u) << "knocked before the pages were handed out";
  EXPECT_EQ(cache(kFarLcore)->flushthresh, 0u);
  {
    // A page of the other node is not kept.
    const AsLcore lcore(kNearLcore);
    put(far);
    rte_mempool_cache* own = cache(kNearLcore);
    for (uint32_t i = 0; i < own->len; ++i)
      EXPECT_EQ(node_of(own->objs[i]), 0);
    EXPECT_EQ(pool().count(Counter::kForeignRefused), 100u);
    put(near);
  }
  pool().knock_and_settle();
  EXPECT_EQ(pool().mode(), SharedPool::kMixed) << "consumers on two nodes";
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

TEST_F(SharedPoolTest, ALcoreThatMovesIsFollowedAfterAKnock) {
  use_nodes_by_lcore();
  ASSERT_NE(make(1023, 64), nullptr);
  const AsLcore lcore(kNearLcore);
  rte_mempool_cache* own = cache(kNearLcore);
  put(take(32));
  pool().knock_and_settle();
  EXPECT_EQ(own->flushthresh, 0u);
  put(take(8));
  EXPECT_NE(own->flushthresh, 0u) << "still on its node: inline again";
  EXPECT_EQ(pool().count(Counter::kNidUpdates), 0u);

  map_lcores("0:0,1:8");
  const Pages near = take(8);
  pool().knock_and_settle();
  ASSERT_GT(own->len, 0u);
  put(near);
  EXPECT_EQ(own->len, 0u) << "all of it was on the node it left";
  EXPECT_EQ(pool().count(Counter::kNidUpdates), 1u);
  const Pages far = take(8);
  EXPECT_EQ(node_of(far[0]), 8);
  put(far);
  EXPECT_TRUE(rte_mempool_full(mempool_));
  // All pages of the old node are home, and the only consumer is on the new one.
  pool().knock_and_settle();
  EXPECT_EQ(pool().mode(), 1u);
  use_nodes_by_lcore();
}

TEST_F(SharedPoolTest, AnEmptyNodeFallsBack) {
  use_nodes_by_lcore();
  ASSERT_NE(make(200, 0), nullptr);
  const AsLcore lcore(kNearLcore);
  const Pages all = take(200);
  ASSERT_EQ(all.size(), 200u);
  const auto far = std::count_if(all.begin(), all.end(), [&](void* p) { return node_of(p) == 8; });
  EXPECT_EQ(far, 100);
  EXPECT_EQ(pool().count(Counter::kAllocFallback), 100u);
  EXPECT_EQ(pool().mode(), SharedPool::kMixed);
  put(all);
  EXPECT_TRUE(rte_mempool_full(mempool_));
}

}  // namespace
}  // namespace nearpool::test
