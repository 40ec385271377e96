// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the pool have in common: an emulated machine of two nodes with sparse ids, an
// arena on both, and a way to act as any lcore from one thread.
#pragma once

#include <gtest/gtest.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eal_main.hpp"
#include "numa/current_node.hpp"
#include "page_arena/arena_handle.hpp"
#include "page_pool.h"
#include "page_pool/queue_pool.hpp"

namespace nearpool {

// Unit tests look inside through this.
struct QueuePoolProbe {
  static PageArena& arena(page_pool* pool) { return *of(pool).arena_; }
  static QueuePool& of(page_pool* pool) { return *reinterpret_cast<QueuePool*>(pool); }
  static uint32_t unchecked(page_pool* pool) { return of(pool).unchecked_; }
  static uint32_t owned_on(page_pool* pool, uint32_t node) { return of(pool).owned_node_[node]; }
  static uint32_t owned_pressure(page_pool* pool) { return of(pool).owned_pressure_; }
  static std::span<void*> stash(page_pool* pool) {
    return {of(pool).stash_, of(pool).stash_length_.load()};
  }
  static uint64_t count(page_pool* pool, Counter counter) {
    return of(pool).counters_.sum(counter);
  }
  static bool strict(page_pool* pool) { return of(pool).strict(); }
  static uint32_t flags(page_pool* pool) { return of(pool).flags(); }
  static uint32_t quota(page_pool* pool) { return of(pool).quota_; }
  static uint32_t nid(page_pool* pool) { return of(pool).nid(); }
  static unsigned consumer(page_pool* pool) { return of(pool).consumer_; }
  static rte_ring* ring(page_pool* pool) { return of(pool).ring_; }
};

namespace test {

inline constexpr int kNear = 0;
inline constexpr int kFar = 8;
inline constexpr int kMemoryless = 3;  // its nearest node with memory is kFar

// The process goes by this topology from the first call on.
inline void use_emulated_nodes() {
  static const bool done = [] {
    std::vector<numa::SyntheticNode> nodes(3);
    nodes[0].id = kNear;
    nodes[1].id = kMemoryless;
    nodes[1].memory_bytes = 0;
    nodes[2].id = kFar;
    auto topology = numa::Topology::synthetic(nodes, {{10, 21, 31}, {21, 10, 15}, {31, 15, 10}});
    EXPECT_TRUE(topology.has_value()) << topology.error().message;
    auto used = numa::use_topology(std::move(*topology));
    EXPECT_TRUE(used.has_value()) << used.error().message;
    return true;
  }();
  static_cast<void>(done);
}

// While it lives, the calling thread counts as that lcore (LCORE_ID_ANY: as none).
class AsLcore {
 public:
  explicit AsLcore(unsigned lcore) : before_(RTE_PER_LCORE(_lcore_id)) {
    RTE_PER_LCORE(_lcore_id) = lcore;
  }
  ~AsLcore() { RTE_PER_LCORE(_lcore_id) = before_; }
  AsLcore(const AsLcore&) = delete;
  AsLcore& operator=(const AsLcore&) = delete;

 private:
  unsigned before_;
};

struct ArenaSpec {
  uint32_t near_pages = 800;
  uint32_t far_pages = 800;
  uint32_t min = PAGE_ARENA_NO_WATERMARK;
  uint32_t low = PAGE_ARENA_NO_WATERMARK;
  uint32_t high = PAGE_ARENA_NO_WATERMARK;
};

class PoolTest : public testing::Test {
 protected:
  using Pages = std::vector<void*>;
  static constexpr unsigned kConsumer = 1;  // lcores
  static constexpr unsigned kOther = 2;
  static constexpr unsigned kThird = 3;

  void SetUp() override { use_emulated_nodes(); }

  void TearDown() override {
    for (page_pool* pool : pools_)
      page_pool_destroy(pool);
    EXPECT_EQ(page_pool_service(), kept_for_ever_) << "pools still wait for pages";
    if (arena_ != nullptr) {
      expect_all_home();
      EXPECT_EQ(page_arena_destroy(arena_), 0) << page_pool_error();
    }
  }

  page_arena* make_arena(const ArenaSpec& spec = {}) {
    std::vector<page_arena_node> nodes = {{kNear, spec.near_pages}};
    if (spec.far_pages != 0) nodes.push_back({kFar, spec.far_pages});
    page_arena_params params{};
    params.name = "test";
    params.data_room = 2176;
    params.nodes = nodes.data();
    params.nb_nodes = static_cast<uint32_t>(nodes.size());
    params.min_pages = spec.min;
    params.low_pages = spec.low;
    params.high_pages = spec.high;
    params.flags = have_hugepages() ? 0 : PAGE_ARENA_F_NO_HUGE;
    if (page_arena_create(&params, &arena_) != 0) throw std::runtime_error(page_pool_error());
    return arena_;
  }

  static page_pool_params defaults(page_arena* arena, const char* name = "pool") {
    page_pool_params params{};
    params.name = name;
    params.arena = arena;
    params.node = kNear;
    params.quota = 600;
    params.cache_size = 64;
    params.bulk = 32;
    return params;
  }

  page_pool* make_pool(const page_pool_params& params) {
    page_pool* pool = nullptr;
    if (page_pool_create(&params, &pool) != 0) throw std::runtime_error(page_pool_error());
    pools_.push_back(pool);
    return pool;
  }

  void destroy(page_pool* pool) {
    std::erase(pools_, pool);
    page_pool_destroy(pool);
  }

  static page_pool_stats stats(page_pool* pool) {
    page_pool_stats stats;
    page_pool_get_stats(pool, &stats);
    return stats;
  }

  static page_arena_stats node_stats(page_arena* arena, uint32_t index) {
    page_arena_stats stats{};
    EXPECT_EQ(page_arena_get_stats(arena, index, &stats), 0);
    return stats;
  }

  // Takes as PMDs do, in the given portions; empty if refused.
  static Pages take(page_pool* pool, unsigned n) {
    Pages pages(n);
    if (rte_mempool_get_bulk(page_pool_mempool(pool), pages.data(), n) != 0) pages.clear();
    return pages;
  }

  static void put(page_pool* pool, const Pages& pages, unsigned bulk = 32) {
    for (std::size_t i = 0; i < pages.size(); i += bulk) {
      const auto n = static_cast<unsigned>(std::min<std::size_t>(bulk, pages.size() - i));
      rte_mempool_put_bulk(page_pool_mempool(pool), pages.data() + i, n);
    }
  }

  unsigned count_on(int node, const Pages& pages) const {
    unsigned n = 0;
    for (void* page : pages)
      n += page_arena_node_of(arena_, page) == node;
    return n;
  }

  uint32_t created() const {
    uint32_t pages = 0;
    for (uint32_t i = 0; i < page_arena_nb_nodes(arena_); ++i)
      pages += node_stats(arena_, i).pages;
    return pages;
  }

  // created = arena free + owned; owned = cached + stashed + ringed + in flight.
  void expect_books(std::initializer_list<std::pair<page_pool*, std::size_t>> out) const {
    uint64_t created = 0;
    uint64_t free = 0;
    for (uint32_t i = 0; i < page_arena_nb_nodes(arena_); ++i) {
      created += node_stats(arena_, i).pages;
      free += node_stats(arena_, i).free;
    }
    uint64_t owned = 0;
    for (const auto& [pool, inflight] : out) {
      const page_pool_stats s = stats(pool);
      EXPECT_EQ(s.inflight, static_cast<int64_t>(inflight)) << s.name;
      EXPECT_EQ(s.owned, s.owned_node[kNear] + s.owned_node[kFar]) << s.name;
      EXPECT_EQ(rte_mempool_in_use_count(page_pool_mempool(pool)), inflight) << s.name;
      owned += s.owned;
    }
    EXPECT_EQ(created, free + owned);
  }

  void expect_all_home() const {
    for (uint32_t i = 0; i < page_arena_nb_nodes(arena_); ++i) {
      const page_arena_stats s = node_stats(arena_, i);
      EXPECT_EQ(s.free, s.pages) << "node " << s.node;
      EXPECT_EQ(s.pressure_out, 0u) << "node " << s.node;
    }
  }

  page_arena* arena_ = nullptr;
  std::vector<page_pool*> pools_;
  unsigned kept_for_ever_ = 0;  // pools that a test broke on purpose
};

}  // namespace test
}  // namespace nearpool
