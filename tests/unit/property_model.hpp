// SPDX-License-Identifier: BSD-3-Clause
// The plain model of the property test, written without a look at how the pool works: which pages
// the program holds, and of which pool. Against it stands where the pages really are: every page
// is looked for in every place there is, after each step.
#pragma once

#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <vector>

#include "pool_fixture.hpp"

namespace nearpool::test {

inline constexpr unsigned kModelLcores = 5;  // lcores that the test acts as; the last is none
inline constexpr unsigned kModelLcoreIds[kModelLcores] = {0, 1, 2, 3, LCORE_ID_ANY};

struct ModelPool {
  page_pool* pool = nullptr;
  std::vector<void*> out;  // pages the program holds
  uint32_t capacity = 0;   // quota at creation
  bool dying = false;
  bool rules_changed = false;  // flags were set, and the consumer has not polled since
};

// Numbers the pages of an arena by address.
class PageNumbers {
 public:
  static constexpr uint16_t kNone = UINT16_MAX;

  explicit PageNumbers(PageArena& arena) : arena_(arena) {
    base_ = arena.chunks().front().range.lo;
    table_.assign((arena.chunks().back().range.hi - base_) / PageArena::kMarkGrain, kNone);
    for (uint32_t node = 0; node < arena.nb_nodes(); ++node) {
      const FreeList& list = arena.free_list(node);
      for (uint32_t i = 0; i < list.free_pages(); ++i) {
        table_[slot(list.slots()[i])] = static_cast<uint16_t>(nodes_.size());
        nodes_.push_back(static_cast<uint8_t>(node));
      }
    }
  }
  uint16_t of(void* page) const {
    const std::size_t at = slot(page);
    return at < table_.size() ? table_[at] : kNone;
  }
  std::size_t count() const { return nodes_.size(); }
  uint32_t node_of(void* page) const { return nodes_[of(page)]; }
  PageArena& arena() const { return arena_; }

 private:
  std::size_t slot(void* page) const {
    return (reinterpret_cast<uintptr_t>(page) - base_) / PageArena::kMarkGrain;
  }

  PageArena& arena_;
  uintptr_t base_;
  std::vector<uint16_t> table_;
  std::vector<uint8_t> nodes_;  // by page number
};

// Where the pages are. Says what is wrong in `complaint`, or leaves it null.
class Census {
 public:
  explicit Census(const PageNumbers& numbers) : numbers_(numbers), seen_(numbers.count()) {}

  const char* complaint() const { return complaint_; }

  void run(const std::vector<ModelPool>& pools, const std::vector<ModelPool>& dying) {
    complaint_ = nullptr;
    ++round_;
    std::size_t found = 0;
    PageArena& arena = numbers_.arena();
    for (uint32_t node = 0; node < arena.nb_nodes(); ++node) {
      const FreeList& list = arena.free_list(node);
      for (uint32_t i = 0; i < list.free_pages(); ++i) {
        if (numbers_.node_of(list.slots()[i]) != node) say("a page is home on the wrong node");
        see(list.slots()[i]);
      }
      found += list.free_pages();
    }
    for (const ModelPool& model : pools)
      found += count_pool(model);
    for (const ModelPool& model : dying)
      found += count_pool(model);
    if (found != numbers_.count()) say("created pages are not free and owned ones");
  }

 private:
  std::size_t count_pool(const ModelPool& model) {
    page_pool* pool = model.pool;
    std::array<uint32_t, kMaxNodes> by_node{};
    uint32_t pressure = 0;
    std::size_t found = 0;
    PageArena& arena = numbers_.arena();
    const bool pressed = any_pressure();
    const auto note = [&](void* page) {
      see(page);
      ++found;
      ++by_node[numbers_.node_of(page)];
      if (pressed) pressure += arena.is_pressure(page);
    };
    for (void* page : QueuePoolProbe::stash(pool))
      note(page);
    rte_ring* ring = QueuePoolProbe::ring(pool);
    void** slots = reinterpret_cast<void**>(&ring[1]);
    for (uint32_t i = ring->cons.tail; i != ring->prod.tail; ++i)
      note(slots[i & ring->mask]);
    rte_mempool* mempool = page_pool_mempool(pool);
    std::size_t cached = 0;
    for (const unsigned lcore : kModelLcoreIds) {
      const rte_mempool_cache* cache = lcore_cache::of(mempool, lcore);
      if (cache == nullptr) continue;
      for (uint32_t i = 0; i < cache->len; ++i)
        note(cache->objs[i]);
      cached += cache->len;
    }
    const std::size_t held = found;
    for (void* page : model.out)
      note(page);
    if (found != QueuePoolProbe::of(pool).owned()) say("owned is not what the pool has and lent");
    if (QueuePoolProbe::of(pool).inflight() != static_cast<int64_t>(found - held))
      say("in flight is not what the program holds");
    uint32_t foreign = 0;
    for (uint32_t node = 0; node < arena.nb_nodes(); ++node) {
      if (by_node[node] != QueuePoolProbe::owned_on(pool, node)) say("owned by node is wrong");
      if (node != QueuePoolProbe::nid(pool)) foreign += by_node[node];
    }
    if (pressure != QueuePoolProbe::owned_pressure(pool)) say("owned under pressure is wrong");
    if (model.dying && cached != 0) say("a dying pool's page stays in a cache");
    check_mode(model, foreign, pressure, found);
    return found;
  }

  void check_mode(const ModelPool& model, uint32_t foreign, uint32_t pressure, std::size_t owned) {
    page_pool* pool = model.pool;
    const uint32_t flags = QueuePoolProbe::flags(pool);
    const bool refuses = ((flags & PAGE_POOL_F_NO_FOREIGN_REJECT) == 0 && foreign != 0) ||
                         ((flags & PAGE_POOL_F_NO_PRESSURE_REJECT) == 0 && pressure != 0) ||
                         owned > QueuePoolProbe::quota(pool);
    if (refuses && !QueuePoolProbe::strict(pool) && !model.dying)
      say("a relaxed pool owns pages to refuse");
    const rte_mempool_cache* cache =
        lcore_cache::of(page_pool_mempool(pool), QueuePoolProbe::consumer(pool));
    if (cache != nullptr && QueuePoolProbe::strict(pool) && cache->flushthresh != 0)
      say("a strict pool's consumer puts inline");
  }

  bool any_pressure() const {
    PageArena& arena = numbers_.arena();
    for (uint32_t node = 0; node < arena.nb_nodes(); ++node)
      if (arena.pressure_out(node) != 0) return true;
    return false;
  }
  void see(void* page) {
    const uint16_t number = numbers_.of(page);
    if (number == PageNumbers::kNone) {
      say("what is no page is in the pool");
    } else if (seen_[number] == round_) {
      say("a page is in two places");
    } else {
      seen_[number] = round_;
    }
  }
  void say(const char* complaint) {
    if (complaint_ == nullptr) complaint_ = complaint;
  }

  const PageNumbers& numbers_;
  std::vector<uint32_t> seen_;  // round in which the page was seen last
  uint32_t round_ = 0;
  const char* complaint_ = nullptr;
};

}  // namespace nearpool::test
