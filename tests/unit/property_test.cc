// SPDX-License-Identifier: BSD-3-Clause
// Random operations of three pools over one arena on three nodes against a plain model
// (property_model.hpp), with fixed seeds, the books and the place of every page after each step.
#include <gtest/gtest.h>
#include <rte_log.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "property_model.hpp"

namespace nearpool::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStepsPerSeed = 10'000;
#else
constexpr int kStepsPerSeed = 250'000;  // four seeds: a million
#endif
constexpr int kNodes[] = {0, 5, 8};
constexpr int kWithoutMemory = 3;
constexpr unsigned kPools = 3;

class PropertyTest : public PoolTest, public testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    static const bool done = [] {
      std::vector<numa::SyntheticNode> nodes(4);
      nodes[0].id = kNodes[0];
      nodes[1].id = kWithoutMemory;
      nodes[1].memory_bytes = 0;
      nodes[2].id = kNodes[1];
      nodes[3].id = kNodes[2];
      auto topology = numa::Topology::synthetic(
          nodes, {{10, 21, 21, 31}, {21, 10, 12, 21}, {21, 12, 10, 21}, {31, 21, 21, 10}});
      return topology && numa::use_topology(std::move(*topology));
    }();
    ASSERT_TRUE(done);
    rte_log_set_level_pattern("page_pool", RTE_LOG_CRIT);  // takeovers of hardened pools
    const page_arena_node nodes[] = {{8, 300}, {0, 300}, {5, 300}};
    page_arena_params params{};
    params.name = "property";
    params.data_room = 6000;  // some 330 pages of a node fill a hugepage
    params.nodes = nodes;
    params.nb_nodes = 3;
    params.min_pages = 20;
    params.low_pages = 40;
    params.high_pages = 80;
    params.flags = have_hugepages() ? 0 : PAGE_ARENA_F_NO_HUGE;
    ASSERT_EQ(page_arena_create(&params, &arena_), 0) << page_pool_error();
    state_ = GetParam();
  }

  unsigned random(unsigned below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((state_ >> 33) % below);
  }
  bool chance(unsigned percent) { return random(100) < percent; }
  unsigned any_lcore() { return kModelLcoreIds[random(kModelLcores)]; }
  int any_node() {
    constexpr int kChoices[] = {0, 0, 5, 8, kWithoutMemory, PAGE_POOL_ANY_NODE};
    return kChoices[random(std::size(kChoices))];
  }

  ModelPool create(unsigned number) {
    char name[PAGE_POOL_NAME_MAX + 1];
    std::snprintf(name, sizeof(name), "pool%u", number);
    page_pool_params params = defaults(arena_, name);
    params.node = any_node();
    params.quota = chance(20) ? 1 + random(40) : 100 + random(500);
    params.ring_size = chance(30) ? 64 : 0;
    params.cache_size = chance(20) ? 0 : chance(50) ? 32 : 1 + random(256);
    params.bulk = chance(50) ? 0 : 4 + random(60);
    params.flags = chance(15) ? PAGE_POOL_F_HARDENED : 0;
    ModelPool model;
    EXPECT_EQ(page_pool_create(&params, &model.pool), 0) << page_pool_error();
    model.capacity = params.quota;
    return model;
  }

  void take(ModelPool& model) {
    const AsLcore as(any_lcore());
    page_pool* pool = model.pool;
    unsigned n = 1 + random(chance(90) ? std::min(64u, model.capacity) : model.capacity);
    rte_mempool* mempool = page_pool_mempool(pool);
    const rte_mempool_cache* cache = lcore_cache::of(mempool, rte_lcore_id());
    const uint32_t inline_pages = cache == nullptr ? 0 : std::min(cache->len, n);
    const uint32_t wanted = n - inline_pages;
    // What there is: all the pool itself holds, and what the arena has, as far as the quota goes.
    uint32_t free = 0;
    for (uint32_t node = 0; node < 3; ++node)
      free += numbers_->arena().free_list(node).free_pages();
    const uint32_t held = static_cast<uint32_t>(QueuePoolProbe::stash(pool).size()) +
                          rte_ring_count(QueuePoolProbe::ring(pool));
    const uint32_t beyond = QueuePoolProbe::of(pool).owned() - held;
    const uint32_t quota = QueuePoolProbe::quota(pool);
    const bool there = wanted == 0 || (beyond + wanted <= quota && wanted <= held + free);
    const uint64_t fallback = QueuePoolProbe::count(pool, Counter::kAllocFallback);
    const uint64_t pressure = QueuePoolProbe::count(pool, Counter::kAllocPressure);

    void* table[1024];
    const bool got = rte_mempool_get_bulk(mempool, table, n) == 0;
    // A pool above a quota that was lowered may still lend what it has.
    const bool may_lend = beyond + held > quota && wanted <= held;
    if (got != there && !(got && may_lend))
      fail_step(got ? "a take should be refused" : "a take should succeed");
    if (!got) return;
    // Inline pages a lcore had gathered for return, or had when the rules changed, were not looked
    // at; all others were.
    const bool looked_at = rte_lcore_id() == QueuePoolProbe::consumer(pool) && !model.rules_changed;
    uint64_t foreign = 0;
    uint64_t pressed = 0;
    for (uint32_t i = looked_at ? 0 : inline_pages; i < n; ++i) {
      foreign += numbers_->node_of(table[i]) != QueuePoolProbe::nid(pool);
      pressed += numbers_->arena().is_pressure(table[i]);
    }
    const uint32_t flags = QueuePoolProbe::flags(pool);
    if ((flags & PAGE_POOL_F_NO_FOREIGN_REJECT) == 0 &&
        foreign != QueuePoolProbe::count(pool, Counter::kAllocFallback) - fallback)
      fail_step("a foreign page was handed out again");
    if ((flags & PAGE_POOL_F_NO_PRESSURE_REJECT) == 0 &&
        pressed != QueuePoolProbe::count(pool, Counter::kAllocPressure) - pressure)
      fail_step("a pressure page was handed out again");
    model.out.insert(model.out.end(), table, table + n);
  }

  void put(ModelPool& model) {
    const AsLcore as(any_lcore());
    unsigned left = static_cast<unsigned>(
        std::min<std::size_t>(model.out.size(), 1 + random(chance(80) ? 64 : 600)));
    while (left != 0) {
      void* table[64];
      const unsigned n = 1 + random(std::min(left, 64u));
      for (unsigned i = 0; i < n; ++i) {
        std::swap(model.out[random(static_cast<unsigned>(model.out.size()))], model.out.back());
        table[i] = model.out.back();
        model.out.pop_back();
      }
      rte_mempool_put_bulk(page_pool_mempool(model.pool), table, n);
      left -= n;
    }
  }

  void poll(ModelPool& model) {
    const AsLcore as(chance(70) && QueuePoolProbe::consumer(model.pool) < RTE_MAX_LCORE
                         ? QueuePoolProbe::consumer(model.pool)
                         : any_lcore());
    const bool is_consumer = QueuePoolProbe::consumer(model.pool) == rte_lcore_id();
    if (chance(80)) {
      page_pool_nid_changed(model.pool, any_node());
    } else {
      page_pool_update_nid(model.pool, any_node());
    }
    if (is_consumer || rte_lcore_id() < RTE_MAX_LCORE) model.rules_changed = false;
  }

  void leave(ModelPool& model) {
    const unsigned consumer = QueuePoolProbe::consumer(model.pool);
    if (consumer >= RTE_MAX_LCORE) return;
    const AsLcore as(consumer);
    page_pool_release(model.pool);
    model.rules_changed = false;
  }

  void change_options(ModelPool& model) {
    if (chance(50)) {
      constexpr uint32_t kChangeable = PAGE_POOL_F_NO_NODE_FOLLOW | PAGE_POOL_F_NO_FOREIGN_REJECT |
                                       PAGE_POOL_F_NO_PRESSURE_REJECT | PAGE_POOL_F_NO_BULK_RETURN;
      const uint32_t set = chance(40) ? random(16) & kChangeable : 0;
      EXPECT_EQ(page_pool_set_flags(model.pool, set, kChangeable), 0);
      model.rules_changed = true;
    } else {
      EXPECT_EQ(page_pool_set_quota(model.pool, 1 + random(model.capacity)), 0);
    }
  }

  void flush(ModelPool& model) {
    for (const unsigned lcore : kModelLcoreIds) {
      const AsLcore as(lcore);
      page_pool_flush_returns(model.pool);
    }
  }

  void renew(ModelPool& model) {
    leave(model);
    flush(model);
    ModelPool old = std::move(model);
    const AsLcore control(0);
    const bool gone = page_pool_destroy(old.pool) == 0;
    if (gone != old.out.empty()) fail_step("only a pool with pages out lingers");
    old.dying = true;
    if (!gone) dying_.push_back(std::move(old));
    model = create(next_name_++);
  }

  void service() {
    const AsLcore control(0);
    std::erase_if(dying_, [](const ModelPool& model) { return model.out.empty(); });
    if (page_pool_service() != dying_.size()) fail_step("service frees those whose pages are home");
  }

  void fail_step(const char* what) {
    if (complaint_ == nullptr) complaint_ = what;
  }

  void step() {
    ModelPool& model = pools_now_[random(kPools)];
    const unsigned what = random(1000);
    if (what < 380) {
      take(model);
    } else if (what < 760) {
      put(model);
    } else if (what < 900) {
      poll(model);
    } else if (what < 920) {
      leave(model);
    } else if (what < 950) {
      const AsLcore as(any_lcore());
      page_pool_flush_returns(model.pool);
    } else if (what < 960) {
      change_options(model);
    } else if (what < 970) {
      page_arena_force_pressure(arena_, kNodes[random(3)], chance(30));
    } else if (what < 980) {
      service();
    } else if (what < 998 && !dying_.empty()) {
      put(dying_[random(static_cast<unsigned>(dying_.size()))]);
    } else {
      renew(model);
    }
  }

  uint64_t state_ = 0;
  std::unique_ptr<PageNumbers> numbers_;
  std::vector<ModelPool> pools_now_;
  std::vector<ModelPool> dying_;
  unsigned next_name_ = 0;
  const char* complaint_ = nullptr;
};

TEST_P(PropertyTest, TheBooksBalanceAfterEachStep) {
  for (unsigned i = 0; i < kPools; ++i)
    pools_now_.push_back(create(next_name_++));
  numbers_ = std::make_unique<PageNumbers>(QueuePoolProbe::arena(pools_now_[0].pool));
  ASSERT_EQ(numbers_->count(), created());
  Census census(*numbers_);
  for (int i = 0; i < kStepsPerSeed; ++i) {
    step();
    census.run(pools_now_, dying_);
    ASSERT_EQ(complaint_, nullptr) << complaint_ << ", step " << i << ", seed " << GetParam();
    ASSERT_EQ(census.complaint(), nullptr)
        << census.complaint() << ", step " << i << ", seed " << GetParam();
  }
  for (const int node : kNodes)
    page_arena_force_pressure(arena_, node, false);
  for (ModelPool& model : pools_now_)
    dying_.push_back(std::move(model));
  for (ModelPool& model : dying_) {
    while (!model.out.empty())
      put(model);
    if (model.dying) continue;
    leave(model);
    flush(model);
    EXPECT_EQ(page_pool_destroy(model.pool), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PropertyTest, testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace nearpool::test
