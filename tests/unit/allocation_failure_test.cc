// SPDX-License-Identifier: BSD-3-Clause
// Memory and pages that cannot be had, at every k-th call: a sentence, nothing lost, nothing half
// done.
#include "allocation_failure.hpp"

#include <dirent.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "log_capture.hpp"
#include "page_arena/arena_memory_testing.hpp"
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

// What a failed call could leave behind in this process.
struct Holdings {
  std::size_t heap_bytes = 0;
  unsigned heap_blocks = 0;
  unsigned maps = 0;
  unsigned files = 0;
  bool operator==(const Holdings&) const = default;
};

Holdings holdings() {
  Holdings now;
  rte_malloc_socket_stats heap{};
  EXPECT_EQ(rte_malloc_get_socket_stats(0, &heap), 0);
  now.heap_bytes = heap.heap_allocsz_bytes;
  now.heap_blocks = heap.alloc_count;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    now.maps += line.find("nearpool-") != std::string::npos;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr)
    ++now.files;
  closedir(directory);
  return now;
}

class AllocationFailureTest : public PoolTest {
 protected:
  void TearDown() override {
    fail_creation(Failing::kNone);
    fail_takes(Failing::kNone);
    arena_memory_fail_at(MemoryStep::kNone);
    PoolTest::TearDown();
  }

  static page_arena_params arena_params() {
    static const page_arena_node nodes[] = {{kNear, 800}, {kFar, 800}};
    page_arena_params params{};
    params.name = "test";
    params.data_room = 2176;
    params.nodes = nodes;
    params.nb_nodes = 2;
    params.flags = have_hugepages() ? 0 : PAGE_ARENA_F_NO_HUGE;
    return params;
  }
  // A sentence about this arena or pool, for whoever has to act.
  static void expect_sentence(const char* about, unsigned k) {
    const std::string said = page_pool_error();
    EXPECT_EQ(said.find(about), 0u) << said << ", call " << k;
    EXPECT_GT(said.size(), std::strlen(about) + 20) << said;
  }
};

TEST_F(AllocationFailureTest, AnArenaIsMadeWholeOrNotAtAll) {
  const page_arena_params params = arena_params();
  // Once, so that what the EAL allocates on first use is there.
  ASSERT_EQ(page_arena_create(&params, &arena_), 0) << page_pool_error();
  ASSERT_EQ(page_arena_destroy(arena_), 0);
  arena_ = nullptr;
  const Holdings before = holdings();
  fail_creation(Failing::kNone);
  ASSERT_EQ(page_arena_create(&params, &arena_), 0);
  const unsigned calls = creation_calls().calls;
  ASSERT_GE(calls, 8u) << "descriptor, two lists, two chunks with marks, the table of chunks";
  ASSERT_EQ(page_arena_destroy(arena_), 0);
  arena_ = nullptr;
  ASSERT_EQ(holdings(), before);
  for (unsigned k = 1; k <= calls; ++k) {
    fail_creation(Failing::kOnce, k);
    EXPECT_EQ(page_arena_create(&params, &arena_), -ENOMEM) << k;
    EXPECT_EQ(creation_calls().failed, 1u);
    expect_sentence("arena test: no EAL memory", k);
    EXPECT_EQ(arena_, nullptr);
    EXPECT_EQ(holdings(), before) << k;
  }
}

TEST_F(AllocationFailureTest, AnArenaWhoseMemoryTheEalDoesNotTake) {
  const page_arena_params params = arena_params();
  ASSERT_EQ(page_arena_create(&params, &arena_), 0) << page_pool_error();
  ASSERT_EQ(page_arena_destroy(arena_), 0);
  arena_ = nullptr;
  const Holdings before = holdings();
  for (const MemoryStep step :
       {MemoryStep::kReserve, MemoryStep::kMemfd, MemoryStep::kMap, MemoryStep::kBind,
        MemoryStep::kPopulate, MemoryStep::kVerify, MemoryStep::kIova, MemoryStep::kRegister}) {
    arena_memory_fail_at(step, 1, ENOMEM);
    EXPECT_LT(page_arena_create(&params, &arena_), 0);
    EXPECT_TRUE(arena_memory_failed()) << static_cast<int>(step);
    expect_sentence("arena", static_cast<unsigned>(step));
    EXPECT_EQ(holdings(), before) << static_cast<int>(step);
  }
}

TEST_F(AllocationFailureTest, APoolIsMadeWholeOrNotAtAll) {
  make_arena();
  const page_pool_params params = defaults(arena_);
  page_pool* pool = nullptr;
  fail_creation(Failing::kNone);
  ASSERT_EQ(page_pool_create(&params, &pool), 0) << page_pool_error();
  const unsigned calls = creation_calls().calls;
  ASSERT_EQ(page_pool_destroy(pool), 0);
  const Holdings before = holdings();
  unsigned refused = 0;
  for (const Failing how : {Failing::kOnce, Failing::kFrom}) {
    for (unsigned k = 1; k <= calls; ++k) {
      fail_creation(how, k);
      pool = nullptr;
      const LogCapture log;
      const int result = page_pool_create(&params, &pool);
      EXPECT_GE(creation_calls().failed, 1u);
      fail_creation(Failing::kNone);
      if (result == 0) {
        // There was another way; the pool is as good as any.
        put(pool, take(pool, 100));
        page_pool_flush_returns(pool);
        EXPECT_EQ(page_pool_destroy(pool), 0);
      } else {
        ++refused;
        EXPECT_EQ(pool, nullptr);
        EXPECT_EQ(log.text(), "") << "the sentence says it all";
        expect_sentence("pool pool: ", k);
        EXPECT_EQ(rte_mempool_lookup("pool"), nullptr);
      }
      EXPECT_EQ(holdings(), before) << k;
      expect_all_home();
    }
  }
  EXPECT_GE(refused, calls) << "when all fail from some call on, nothing helps";
}

// ---- pages that cannot be had

class TakeFailureTest : public AllocationFailureTest {
 protected:
  // Takes, and checks that a refusal changed neither the cache nor what is in flight.
  Pages take_or_nothing(page_pool* pool, rte_mempool_cache* cache, unsigned n) {
    rte_mempool* mempool = page_pool_mempool(pool);
    Pages before;
    if (cache != nullptr) before.assign(cache->objs, cache->objs + cache->len);
    const int64_t inflight = page_pool_inflight(pool);
    Pages pages(n);
    if (rte_mempool_generic_get(mempool, pages.data(), n, cache) == 0) return pages;
    if (cache != nullptr) {
      EXPECT_EQ(Pages(cache->objs, cache->objs + cache->len), before) << "a refused refill";
    }
    EXPECT_EQ(page_pool_inflight(pool), inflight);
    return {};
  }

  void churn(Failing how, unsigned k) {
    fail_takes(how, k);
    page_pool* pool = make_pool(defaults(arena_));
    rte_mempool* mempool = page_pool_mempool(pool);
    std::vector<Pages> out;
    std::size_t lent = 0;
    uint32_t seed = 5;
    unsigned refused = 0;
    const AsLcore consumer(kConsumer);
    for (unsigned step = 0; step < 3000; ++step) {
      seed = seed * 1664525u + 1013904223u;
      const unsigned n = 1 + (seed >> 16) % (step % 10 == 0 ? 300 : 40);
      const AsLcore as(step % 5 == 0 ? kOther : step % 7 == 0 ? LCORE_ID_ANY : kConsumer);
      if (rte_lcore_id() == kConsumer)
        page_pool_nid_changed(pool, step / 100 % 2 == 0 ? kNear : kFar);
      rte_mempool_cache* cache = rte_mempool_default_cache(mempool, rte_lcore_id());
      if ((seed >> 8) % 2 == 0 && lent < 400) {
        const Pages pages = take_or_nothing(pool, cache, n);
        refused += pages.empty();
        lent += pages.size();
        if (!pages.empty()) out.push_back(pages);
      } else if (!out.empty()) {
        lent -= out.back().size();
        put(pool, out.back());
        out.pop_back();
      }
      expect_books({{pool, lent}});
      if (HasFailure()) FAIL() << "step " << step;
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(take_calls().failed, 0u);
    fail_takes(Failing::kNone);
    for (const Pages& pages : out)
      put(pool, pages);
    for (const unsigned lcore : {kOther, kConsumer}) {
      const AsLcore as(lcore);
      page_pool_flush_returns(pool);
      page_pool_release(pool);
    }
    expect_books({{pool, 0}});
    destroy(pool);
  }
};

TEST_F(TakeFailureTest, EachKthTake) {
  make_arena();
  for (unsigned k = 1; k <= 8; ++k)
    ASSERT_NO_FATAL_FAILURE(churn(Failing::kEvery, k));
}

TEST_F(TakeFailureTest, OneAndFiftyPercent) {
  make_arena();
  churn(Failing::kPercent, 1);
  churn(Failing::kPercent, 50);
}

// All from the k-th on: the pool lives on what it owns.
TEST_F(TakeFailureTest, AllFromTheKthOn) {
  make_arena();
  for (const unsigned k : {2u, 3u, 10u, 40u})
    churn(Failing::kFrom, k);
}

TEST_F(TakeFailureTest, ARefusedDriverCallWritesNothing) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const Pages held = take(pool, 100);
  put(pool, held, 64);
  page_pool_flush_returns(pool);
  fail_takes(Failing::kFrom, 1);
  Pages table(120, &table);
  const uint64_t failed = stats(pool).alloc_failed;
  for (const unsigned lcore : {0u, kConsumer, unsigned{LCORE_ID_ANY}}) {
    const AsLcore as(lcore);
    EXPECT_EQ(rte_mempool_ops_dequeue_bulk(page_pool_mempool(pool), table.data(), 101), -ENOBUFS);
    EXPECT_EQ(std::count(table.begin(), table.end(), &table), 120);
  }
  EXPECT_EQ(stats(pool).alloc_failed, failed + 3);
  EXPECT_EQ(take(pool, 100).size(), 100u) << "what it owns is still there, and whole";
  rte_mempool_put_bulk(page_pool_mempool(pool), held.data(), 100);
}

// A cache of the program's own, which the pool does not know: a refused refill may not touch it.
TEST_F(TakeFailureTest, ACacheOfTheProgramsOwn) {
  page_pool_params params = defaults(make_arena());
  params.quota = 100;
  page_pool* pool = make_pool(params);
  rte_mempool_cache* cache = rte_mempool_cache_create(32, 0);
  ASSERT_NE(cache, nullptr);
  Pages out;
  for (;;) {
    const Pages more = take_or_nothing(pool, cache, 7);
    if (more.empty()) break;
    out.insert(out.end(), more.begin(), more.end());
  }
  EXPECT_GT(out.size(), 90u);
  std::sort(out.begin(), out.end());
  EXPECT_EQ(std::adjacent_find(out.begin(), out.end()), out.end()) << "no page twice";
  rte_mempool_generic_put(page_pool_mempool(pool), out.data(), 20, cache);
  EXPECT_EQ(take_or_nothing(pool, cache, 40).size(), 0u);
  rte_mempool_put_bulk(page_pool_mempool(pool), out.data() + 20,
                       static_cast<unsigned>(out.size() - 20));
  rte_mempool_cache_flush(cache, page_pool_mempool(pool));
  rte_mempool_cache_free(cache);
  expect_books({{pool, 0}});
}

}  // namespace
}  // namespace nearpool::test
