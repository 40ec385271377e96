// SPDX-License-Identifier: BSD-3-Clause
// The arena on four synthetic nodes with sparse ids, over plain memory: which node a page is on,
// where a take falls back to, what comes home.
#include "page_arena/page_arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "log_capture.hpp"

namespace nearpool::test {
namespace {

constexpr std::size_t kPage = 256;  // bytes, in a layout without header

class PageArenaTest : public testing::Test {
 protected:
  PageArenaTest() : topology_(make_topology()) {}
  ~PageArenaTest() override { PageArena::destroy(arena_); }

  static numa::Topology make_topology() {
    std::vector<numa::SyntheticNode> nodes(5);
    const int ids[] = {0, 3, 5, 8, 31};
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes[i].id = ids[i];
    // 0 is near 8, then 31, then 3; 5 is as far from 3 as from 31.
    return *numa::Topology::synthetic(nodes, {{10, 40, 30, 15, 20},
                                              {40, 10, 21, 30, 12},
                                              {30, 21, 10, 30, 21},
                                              {15, 30, 30, 10, 25},
                                              {20, 12, 21, 25, 10}});
  }

  void create(std::initializer_list<int> ids, uint32_t pages, Watermarks marks = {}) {
    std::vector<PageArena::NodeCapacity> nodes;
    for (const int id : ids)
      nodes.push_back({id, pages});
    const PageLayout layout{0, kPage, 0};
    Result<PageArena*> made = PageArena::create("test", layout, nodes, marks, topology_);
    ASSERT_TRUE(made) << made.error().message;
    arena_ = *made;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, 64 * kPage * 8)));
  }

  // A chunk of `pages` pages that begins at the at-th page of the test's memory.
  void chunk(uint32_t node, std::size_t at, std::size_t pages, bool marks = true) {
    std::byte* lo = memory_.get() + at * kPage;
    ASSERT_TRUE(arena_->add_chunk(node, lo, lo + pages * kPage, marks));
    for (std::size_t i = pages; i-- > 0;)
      arena_->add_page(lo + i * kPage);
  }
  void* page(std::size_t at) const { return memory_.get() + at * kPage; }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  numa::Topology topology_;
  PageArena* arena_ = nullptr;
  std::unique_ptr<std::byte, Free> memory_;
};

TEST_F(PageArenaTest, FallsBackByDistance) {
  create({0, 3, 8, 31}, 16);
  for (uint32_t node = 0; node < 4; ++node)
    chunk(node, 16 * node, 16);
  void* pages[64];
  const PageArena::TakeLimits all{.reserve = true, .fallback = true};
  // From 0: itself, 8, 31, 3.
  const PageArena::Taken taken = arena_->take(0, pages, 56, all);
  ASSERT_EQ(taken.pages, 56u);
  EXPECT_EQ(taken.fallback, 40u);
  const uint32_t order[] = {0, 2, 3, 1};
  for (unsigned i = 0; i < 56; ++i)
    EXPECT_EQ(arena_->node_of(pages[i]), order[i / 16]) << i;
  EXPECT_EQ(taken.by_node[0], 16u);
  EXPECT_EQ(taken.by_node[1], 8u);
  EXPECT_EQ(arena_->fallback_taken(0), 0u) << "of its own it is no fallback";
  EXPECT_EQ(arena_->fallback_taken(2), 16u);
  EXPECT_EQ(arena_->fallback_taken(1), 8u);
  // What is left is on 3 alone, and there are 8.
  void* rest[9] = {};
  EXPECT_EQ(arena_->take(2, rest, 9, all).pages, 0u);
  EXPECT_EQ(rest[0], nullptr) << "a refused take writes nothing";
  EXPECT_EQ(arena_->free_list(1).free_pages(), 8u);
  EXPECT_EQ(arena_->take(2, rest, 8, {.reserve = true, .fallback = false}).pages, 0u);
  EXPECT_EQ(arena_->take(2, rest, 8, all).fallback, 8u);
}

TEST_F(PageArenaTest, EachNodeHasItsOwnOrder) {
  create({31, 8, 3, 0}, 4);
  const uint32_t of_node[4][4] = {{0, 2, 3, 1}, {1, 3, 0, 2}, {2, 0, 1, 3}, {3, 1, 0, 2}};
  for (uint32_t node = 0; node < 4; ++node)
    chunk(node, 4 * node, 4);
  for (uint32_t node = 0; node < 4; ++node) {
    void* pages[16];
    ASSERT_EQ(arena_->take(node, pages, 16, {.reserve = true, .fallback = true}).pages, 16u);
    for (unsigned i = 0; i < 16; ++i)
      EXPECT_EQ(arena_->node_of(pages[i]), of_node[node][i / 4]) << node << ", page " << i;
    for (void* one : pages)
      arena_->give(arena_->node_of(one), &one, 1);
  }
}

TEST_F(PageArenaTest, TheNearestNodeStandsForOneThatIsNotThere) {
  create({31, 3, 8}, 4);
  EXPECT_EQ(arena_->index_of(31), 0u);
  EXPECT_EQ(arena_->index_of(3), 1u);
  EXPECT_EQ(arena_->index_of(8), 2u);
  EXPECT_EQ(arena_->index_of(0), 2u) << "8 is the nearest to 0";
  EXPECT_EQ(arena_->id_of(arena_->index_of(5)), 3) << "3 and 31 are as near: the lowest id";
  EXPECT_EQ(arena_->id_of(arena_->index_of(17)), 3) << "no such node: the lowest id";
}

TEST_F(PageArenaTest, RangesOfNodesThatLieApart) {
  create({0, 8}, 32);
  chunk(1, 32, 16);
  chunk(0, 16, 8);
  chunk(0, 0, 8);  // a hole between the chunks of node 0 belongs to nobody
  const AddressRange& near = arena_->range_of(0);
  EXPECT_TRUE(near.holds(page(0)));
  EXPECT_TRUE(near.holds(page(23)));
  EXPECT_FALSE(near.holds(page(24)));
  EXPECT_FALSE(near.holds(page(32)));
  EXPECT_EQ(arena_->node_of(page(7)), 0u);
  EXPECT_EQ(arena_->node_of(page(8)), PageArena::kNoNode) << "in the hole";
  EXPECT_EQ(arena_->node_of(page(15)), PageArena::kNoNode);
  EXPECT_EQ(arena_->node_of(page(16)), 0u);
  EXPECT_EQ(arena_->chunks().size(), 3u);
  EXPECT_TRUE(
      std::is_sorted(arena_->chunks().begin(), arena_->chunks().end(),
                     [](const Chunk& a, const Chunk& b) { return a.range.lo < b.range.lo; }));
}

TEST_F(PageArenaTest, InterleavedChunksHaveNoRangeAndAreLookedUp) {
  create({0, 8}, 32);
  chunk(0, 0, 8);
  chunk(1, 8, 8);
  EXPECT_TRUE(arena_->range_of(0).holds(page(7)));
  EXPECT_TRUE(arena_->range_of(1).holds(page(8)));
  chunk(0, 16, 8);
  EXPECT_FALSE(arena_->range_of(0).holds(page(0))) << "a chunk of node 8 lies inside";
  EXPECT_FALSE(arena_->range_of(0).holds(page(16)));
  EXPECT_TRUE(arena_->range_of(1).holds(page(8))) << "this one is still alone";
  chunk(1, 24, 8);
  EXPECT_FALSE(arena_->range_of(1).holds(page(8)));
  for (std::size_t at = 0; at < 32; ++at)
    EXPECT_EQ(arena_->node_of(page(at)), at / 8 % 2) << at;
  EXPECT_EQ(arena_->node_of(page(32)), PageArena::kNoNode);
}

TEST_F(PageArenaTest, BoundsOfAChunk) {
  create({0}, 32);
  chunk(0, 4, 8);
  const auto byte = [this](std::ptrdiff_t at) { return memory_.get() + at; };
  const auto first = static_cast<std::ptrdiff_t>(4 * kPage);
  const auto end = static_cast<std::ptrdiff_t>(12 * kPage);
  EXPECT_EQ(arena_->node_of(byte(first - 1)), PageArena::kNoNode);
  EXPECT_EQ(arena_->node_of(byte(first)), 0u);
  EXPECT_EQ(arena_->node_of(byte(end - 1)), 0u);
  EXPECT_EQ(arena_->node_of(byte(end)), PageArena::kNoNode);
  EXPECT_EQ(arena_->node_of(nullptr), PageArena::kNoNode);
  EXPECT_EQ(arena_->mark_of(byte(first - 1)), nullptr);
  EXPECT_EQ(arena_->mark_of(byte(end)), nullptr);
  EXPECT_EQ(arena_->mark_of(byte(first)), arena_->chunks()[0].marks);
  EXPECT_EQ(arena_->mark_of(byte(first + 63)), arena_->mark_of(byte(first)));
  EXPECT_EQ(arena_->mark_of(byte(first + 64)), arena_->mark_of(byte(first)) + 1);
  ASSERT_NE(arena_->mark_of(byte(end - 1)), nullptr) << "written below: must be there";
  arena_->mark_of(byte(end - 1))->store(0);
  EXPECT_TRUE(arena_->is_page(byte(first)));
  EXPECT_FALSE(arena_->is_page(byte(first + 1))) << "a page does not start there";
  EXPECT_FALSE(arena_->is_page(byte(first + 64)));
  EXPECT_FALSE(arena_->is_page(byte(end)));
}

TEST_F(PageArenaTest, MarksOfPressurePagesUntilTheyAreHome) {
  create({0, 8}, 16, {.min = 4, .low = 8, .high = 12});
  chunk(0, 0, 16);
  chunk(1, 16, 16);
  void* pages[32];
  const PageArena::Taken taken = arena_->take(0, pages, 24, {.reserve = true, .fallback = true});
  ASSERT_EQ(taken.pages, 24u);
  EXPECT_EQ(taken.pressure, 4u);
  EXPECT_EQ(taken.fallback, 8u);
  unsigned marked = 0;
  for (unsigned i = 0; i < 24; ++i)
    marked += arena_->is_pressure(pages[i]);
  EXPECT_EQ(marked, 4u);
  for (unsigned i = 12; i < 16; ++i)
    EXPECT_TRUE(arena_->is_pressure(pages[i])) << "the last of their node";
  EXPECT_EQ(arena_->pressure_out(0), 4u);
  EXPECT_EQ(arena_->pressure_out(1), 0u);
  EXPECT_EQ(arena_->give(1, pages + 16, 8), 0u);
  EXPECT_EQ(arena_->give(0, pages, 14), 2u);
  EXPECT_EQ(arena_->pressure_out(0), 2u);
  EXPECT_FALSE(arena_->is_pressure(pages[12])) << "home";
  EXPECT_EQ(arena_->give(0, pages + 14, 2), 2u);
  EXPECT_EQ(arena_->pressure_taken(0), 4u);
  EXPECT_EQ(arena_->pressure_out(0), 0u);
}

TEST_F(PageArenaTest, TooManyPagesAreReportedAndNotTakenIn) {
  create({0}, 8);
  chunk(0, 0, 8);
  const LogCapture log;
  void* again = page(3);
  arena_->give(0, &again, 1);
  EXPECT_EQ(arena_->free_list(0).free_pages(), 8u);
  EXPECT_EQ(log.count("arena test: 1 pages came home to node 0, which has no room for them"), 1u)
      << log.text();
}

TEST_F(PageArenaTest, ARefusedTakeLeavesTheLevelsAlone) {
  create({0, 8}, 16, {.min = 4, .low = 8, .high = 12});
  chunk(0, 0, 16);
  chunk(1, 16, 16);
  void* pages[33] = {};
  EXPECT_EQ(arena_->take(0, pages, 33, {.reserve = true, .fallback = true}).pages, 0u);
  EXPECT_EQ(arena_->take(0, pages, 25, {.reserve = false, .fallback = true}).pages, 0u);
  for (uint32_t node = 0; node < 2; ++node) {
    EXPECT_EQ(arena_->free_list(node).levels().below_low, 0u);
    EXPECT_FALSE(arena_->free_list(node).asking());
    EXPECT_EQ(arena_->pressure_taken(node), 0u);
    EXPECT_EQ(arena_->fallback_taken(node), 0u);
  }
  EXPECT_EQ(arena_->take(0, pages, 24, {.reserve = false, .fallback = true}).pressure, 0u);
}

}  // namespace
}  // namespace nearpool::test
