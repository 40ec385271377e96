// SPDX-License-Identifier: BSD-3-Clause
// Memory of an arena: that it is there, and where it lies.
#include "page_arena/arena_memory.hpp"

#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "arena_memory_fixture.hpp"

namespace nearpool {
namespace {

using namespace test;

// Node of a page, asked without the code under test.
int node_of(const void* address) {
  void* page = const_cast<void*>(address);
  int node = -1;
  return move_pages(0, 1, &page, nullptr, &node, 0) == 0 ? node : -1;
}

TEST_P(Pages, OneNode) {
  const Leftovers before = leftovers();
  {
    const ArenaMemory memory = mapped(request({{first_node(), page_bytes() + 1}}), machine());
    EXPECT_EQ(memory.page_bytes(), page_bytes());
    EXPECT_EQ(memory.bytes(), 2 * page_bytes());
    ASSERT_EQ(memory.ranges().size(), 1U);
    EXPECT_EQ(memory.ranges()[0].node, first_node());
    EXPECT_EQ(memory.ranges()[0].lo, memory.base());
    EXPECT_EQ(memory.ranges()[0].hi, memory.base() + memory.bytes());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.base()) % page_bytes(), 0U);
    EXPECT_EQ(memory.misplaced(), 0U);
    for (std::size_t i = 0; i < memory.bytes(); i += 512) {
      EXPECT_EQ(memory.base()[i], std::byte{0}) << i;
      memory.base()[i] = std::byte{1};
    }
    EXPECT_EQ(own_hugepages(), before.hugepages + (hugepages() ? 2 : 0));
    EXPECT_NE(leftovers(), before);
  }
  EXPECT_EQ(leftovers(), before);
}

TEST_P(Pages, RangesAreAdjacentInTheOrderOfTheRequest) {
  const ArenaMemory memory = mapped(two_node_request(), two_nodes());
  const auto ranges = memory.ranges();
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].node, 8);
  EXPECT_EQ(ranges[1].node, 0);
  EXPECT_EQ(ranges[0].lo, memory.base());
  EXPECT_EQ(ranges[0].hi, memory.base() + 2 * page_bytes());
  EXPECT_EQ(ranges[1].lo, ranges[0].hi);
  EXPECT_EQ(ranges[1].hi, memory.base() + memory.bytes());
  EXPECT_EQ(memory.bytes(), 5 * page_bytes());
}

TEST_P(Pages, EveryPageIsThereAndOnItsNode) {
  const ArenaMemory memory = mapped(two_node_request(), two_nodes());
  for (const NodeRange& range : memory.ranges()) {
    for (std::byte* page = range.lo; page < range.hi; page += page_bytes()) {
      // A negative status would be a page that is not there yet.
      EXPECT_EQ(node_of(page), two_nodes().real_node(range.node));
    }
  }
}

TEST_P(Pages, MemoryIsBoundToItsNode) {
  const ArenaMemory memory = mapped(two_node_request(), two_nodes());
  for (const NodeRange& range : memory.ranges()) {
    int mode = -1;
    unsigned long nodes[2] = {};
    ASSERT_EQ(get_mempolicy(&mode, nodes, 128, range.lo, MPOL_F_ADDR), 0);
    EXPECT_EQ(mode, MPOL_BIND);
    EXPECT_EQ(nodes[0], 1UL << two_nodes().real_node(range.node));
  }
}

TEST_P(Pages, NameShowsInTheMappings) {
  const ArenaMemory memory = mapped(two_node_request(), two_nodes());
  std::uintptr_t covered = 0;
  for (const Mapping& mapping : mappings()) {
    if (mapping.name.find("memfd:nearpool-unit") == std::string::npos) continue;
    EXPECT_EQ(mapping.rights, "rw-s");
    covered += mapping.hi - mapping.lo;
  }
  EXPECT_EQ(covered, memory.bytes());
}

TEST_P(Pages, AnotherMappingOfTheFileSeesTheSame) {
  const ArenaMemory memory = mapped(two_node_request(), two_nodes());
  void* view = mmap(nullptr, memory.bytes(), PROT_READ, MAP_SHARED, memory.fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  for (const NodeRange& range : memory.ranges()) {
    const std::ptrdiff_t offset = range.lo - memory.base();
    range.lo[7] = std::byte(range.node + 1);
    EXPECT_EQ(static_cast<std::byte*>(view)[offset + 7], std::byte(range.node + 1));
  }
  ASSERT_EQ(munmap(view, memory.bytes()), 0);
}

TEST_P(Pages, NobodyCanTakePagesAwayByTheFile) {
  const ArenaMemory memory = mapped(request({{first_node(), page_bytes()}}), machine());
  EXPECT_EQ(ftruncate(memory.fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  struct stat status = {};
  ASSERT_EQ(fstat(memory.fd(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), memory.bytes());
}

TEST_P(Pages, OlderKernelsBringPagesInByTheFile) {
  arena_memory_without_populate(true);
  const Leftovers before = leftovers();
  int policy_before = -1;
  ASSERT_EQ(get_mempolicy(&policy_before, nullptr, 0, nullptr, 0), 0);
  for (const bool strict : {true, false}) {
    MemoryRequest pages = two_node_request();
    pages.strict = strict;
    const ArenaMemory memory = mapped(pages, two_nodes());
    for (const NodeRange& range : memory.ranges()) {
      for (std::byte* page = range.lo; page < range.hi; page += page_bytes()) {
        EXPECT_EQ(node_of(page), two_nodes().real_node(range.node));
      }
    }
  }
  EXPECT_EQ(leftovers(), before);
  int policy_after = -1;
  ASSERT_EQ(get_mempolicy(&policy_after, nullptr, 0, nullptr, 0), 0);
  EXPECT_EQ(policy_after, policy_before);
}

TEST_P(Pages, MovesLeaveNothingBehind) {
  const Leftovers before = leftovers();
  {
    ArenaMemory first = mapped(request({{first_node(), 1}}), machine());
    std::byte* const base = first.base();
    ArenaMemory second(std::move(first));
    EXPECT_EQ(second.base(), base);
    EXPECT_EQ(first.base(), nullptr);
    EXPECT_EQ(first.bytes(), 0U);
    EXPECT_EQ(first.fd(), -1);
    EXPECT_TRUE(first.ranges().empty());
    EXPECT_EQ(first.misplaced(), 0U);
    first.for_each_chunk([](auto...) { FAIL(); });

    ArenaMemory third = mapped(request({{first_node(), 1}}), machine());
    third = std::move(second);
    EXPECT_EQ(third.base(), base);
    base[0] = std::byte{1};
  }
  EXPECT_EQ(leftovers(), before);
}

// ---- misplaced pages ----------------------------------------------------------------------------

TEST_P(Pages, StrictRefusesMisplacedPages) {
  const Leftovers before = leftovers();
  arena_memory_misplace(2, 5);
  const auto memory = ArenaMemory::map(two_node_request(), two_nodes());
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, -EXDEV);
  const std::string size = hugepages() ? "2 MiB" : "4 KiB";
  EXPECT_EQ(memory.error().message,
            "arena 'unit': 2 of 2 pages (" + size + " each) for node 8 (emulated, memory of " +
                "machine node " + std::to_string(two_nodes().real_node(8)) +
                ") lie elsewhere, 2 of them on node 5: reserve more on that node, or allow pages " +
                "of other nodes (lenient)");
  EXPECT_EQ(leftovers(), before);
}

TEST_P(Pages, LenientCountsMisplacedPages) {
  MemoryRequest lenient = two_node_request();
  lenient.strict = false;
  EXPECT_EQ(mapped(lenient, two_nodes()).misplaced(), 0U);

  arena_memory_misplace(1, 5);
  const ArenaMemory memory = mapped(lenient, two_nodes());
  EXPECT_EQ(memory.misplaced(), 2U);
  EXPECT_EQ(memory.misplaced(0), 1U);
  EXPECT_EQ(memory.misplaced(1), 1U);
  EXPECT_EQ(memory.misplaced(2), 0U);
}

INSTANTIATE_TEST_SUITE_P(Memory, Pages, testing::Bool(), kind);

}  // namespace
}  // namespace nearpool
