// SPDX-License-Identifier: BSD-3-Clause
// What a request comes to and whether it fits, on node trees of all kinds. Nothing is mapped.
#include "page_arena/memory_plan.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

#include "fake_sysfs.hpp"
#include "page_arena/arena_memory.hpp"

namespace nearpool {
namespace {

using numa::Topology;
using test::FakeSysfs;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::size_t kPage = 2 * kMegabyte;

Topology discovered(const FakeSysfs& tree) {
  Result<Topology> topology = Topology::discover(tree.root());
  if (!topology) throw std::runtime_error(topology.error().message);
  return std::move(*topology);
}

// Two nodes with 8 GiB each, of which half is free; 10 and 40 of 64 hugepages of 2 MiB are free.
class Plan : public testing::Test {
 protected:
  Plan() {
    tree.node(0, 8 << 20, {0}, "10 21").hugepages(0, 2048, 64, 10).hugepages(0, 1048576, 0, 0);
    tree.node(8, 8 << 20, {1}, "21 10").hugepages(8, 2048, 64, 40).hugepages(8, 1048576, 0, 0);
  }

  MemoryRequest request(std::vector<NodeBytes> nodes) const {
    return {.name = "test", .nodes = std::move(nodes), .hugepages = true, .strict = true};
  }

  FakeSysfs tree;
};

TEST_F(Plan, BytesAreRoundedUpToWholeHugepages) {
  const auto plan = plan_memory(request({{8, 1}, {0, kPage + 1}}), discovered(tree));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->page_bytes, kPage);
  EXPECT_TRUE(plan->hugepages);
  EXPECT_EQ(plan->bytes, 3 * kPage);
  ASSERT_EQ(plan->ranges.size(), 2U);
  EXPECT_EQ(plan->ranges[0].node, 8);
  EXPECT_EQ(plan->ranges[0].real_node, 8);
  EXPECT_EQ(plan->ranges[0].bytes, kPage);
  EXPECT_EQ(plan->ranges[1].node, 0);
  EXPECT_EQ(plan->ranges[1].bytes, 2 * kPage);
}

TEST_F(Plan, AllThatIsFreeFitsAndOneByteMoreDoesNot) {
  const Topology topology = discovered(tree);
  EXPECT_TRUE(plan_memory(request({{0, 10 * kPage}, {8, 40 * kPage}}), topology));
  const auto refused = plan_memory(request({{0, 10 * kPage + 1}, {8, 1}}), topology);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, -ENOMEM);
  EXPECT_EQ(refused.error().message,
            "arena 'test' wants 24 MiB of hugepages of 2 MiB, and does not fit: node 0 has 20 MiB "
            "free of 22 MiB wanted, node 8 has 80 MiB free of 2 MiB wanted; the largest that fits "
            "is 22 MiB: reserve 1 more in " +
                tree.root() +
                "/node0/hugepages/hugepages-2048kB/nr_hugepages, ask for less, or use ordinary "
                "pages (--no-huge)");
}

TEST_F(Plan, OneNodeShortOfPagesIsNotHelpedByTheOther) {
  const auto refused = plan_memory(request({{0, 11 * kPage}}), discovered(tree));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("node 8"), std::string::npos);
  EXPECT_NE(refused.error().message.find("node 0 has 20 MiB free of 22 MiB wanted"),
            std::string::npos);
}

TEST_F(Plan, LenientMayTakeFromAnyNode) {
  const Topology topology = discovered(tree);
  MemoryRequest lenient = request({{0, 50 * kPage}});
  lenient.strict = false;
  EXPECT_TRUE(plan_memory(lenient, topology));
  lenient.nodes[0].bytes += 1;
  const auto refused = plan_memory(lenient, topology);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "node 0 has 20 MiB free of 102 MiB wanted, node 8 has 80 MiB free of 0 MiB wanted; "
                "the largest that fits is 100 MiB"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(Plan, LargerHugepagesWhereSmallOnesDoNotDo) {
  tree.hugepages(0, 1048576, 2, 1).hugepages(8, 1048576, 2, 2);
  const Topology topology = discovered(tree);
  const auto small = plan_memory(request({{0, 10 * kPage}, {8, 1}}), topology);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->page_bytes, kPage);
  const auto large = plan_memory(request({{0, 11 * kPage}, {8, 1}}), topology);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->page_bytes, 1024 * kMegabyte);
  EXPECT_EQ(large->bytes, 2048 * kMegabyte);
}

TEST_F(Plan, RefusalSpeaksOfTheSizeThatIsReserved) {
  tree.hugepages(0, 2048, 0, 0).hugepages(0, 1048576, 2, 1);
  const auto refused = plan_memory(request({{0, 1025 * kMegabyte}}), discovered(tree));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("wants 2 GiB of hugepages of 1 GiB, and does not fit: "
                                         "node 0 has 1 GiB free of 2 GiB wanted; the largest that "
                                         "fits is 1 GiB"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(Plan, NoHugepagesAtAll) {
  FakeSysfs bare;
  bare.node(0, 1 << 20, {0}, "10");
  const auto refused = plan_memory(request({{0, 3 * kPage}}), discovered(bare));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, -ENOMEM);
  EXPECT_NE(refused.error().message.find("wants 6 MiB of hugepages of 2 MiB, and does not fit: "
                                         "node 0 has 0 MiB free of 6 MiB wanted; the largest that "
                                         "fits is 0 MiB: reserve 3 more in"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(Plan, OrdinaryMemory) {
  const Topology topology = discovered(tree);
  MemoryRequest ordinary = request({{0, 5}});
  ordinary.hugepages = false;
  const auto plan = plan_memory(ordinary, topology);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->page_bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(plan->bytes, plan->page_bytes);

  // 4 GiB are free, of which the kernel keeps 128 MiB.
  ordinary.nodes[0].bytes = 3968 * kMegabyte;
  EXPECT_TRUE(plan_memory(ordinary, topology));
  ordinary.nodes[0].bytes += 1;
  const auto refused = plan_memory(ordinary, topology);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, -ENOMEM);
  EXPECT_EQ(refused.error().message,
            "arena 'test' wants 3968 MiB of ordinary memory, and does not fit: node 0 has 3968 MiB "
            "free of 3968 MiB wanted; the largest that fits is 3968 MiB: free some memory, or ask "
            "for less");
}

TEST_F(Plan, OrdinaryMemoryHasToFitTheCgroup) {
  MemoryRequest ordinary = request({{0, 32 * kMegabyte}});
  ordinary.hugepages = false;
  MemoryPlan plan = *plan_memory(ordinary, discovered(tree));
  EXPECT_TRUE(fits_cgroup(plan, "test", std::nullopt));
  EXPECT_TRUE(fits_cgroup(plan, "test", 32 * kMegabyte));
  const auto refused = fits_cgroup(plan, "test", 32 * kMegabyte - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, -ENOMEM);
  EXPECT_EQ(refused.error().message,
            "arena 'test' wants 32 MiB of ordinary memory, and the cgroup of the process or "
            "container leaves 31 MiB: raise its memory limit, ask for less, or use hugepages");
  plan.hugepages = true;
  EXPECT_TRUE(fits_cgroup(plan, "test", 0));
}

TEST_F(Plan, EmulatedNodesShareWhatTheMachineNodeHas) {
  const auto topology = Topology::from_lcore_map("0:1,1:2,2:8", discovered(tree));
  ASSERT_TRUE(topology);
  // 1 and 2 have no machine node of their own: they take from 0 and 8 in turn.
  EXPECT_TRUE(plan_memory(request({{1, 10 * kPage}, {2, 20 * kPage}, {8, 20 * kPage}}), *topology));
  const auto refused =
      plan_memory(request({{1, kPage}, {2, 20 * kPage}, {8, 21 * kPage}}), *topology);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "machine node 0 (for emulated node 1) has 20 MiB free of 2 MiB wanted, machine "
                "node 8 (for emulated nodes 2, 8) has 80 MiB free of 82 MiB wanted; the largest "
                "that fits is 82 MiB: reserve 1 more in " +
                tree.root() + "/node8/"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(Plan, BadRequestsAreRefused) {
  tree.node(9, 0, {}, "21 21 10");
  const Topology topology = discovered(tree);
  const std::vector<std::pair<std::vector<NodeBytes>, std::string>> cases = {
      {{}, "arena 'test' asks for no memory: name at least one node"},
      {{{1, 1}},
       "arena 'test' asks for memory of node 1, which does not exist: nodes with memory are 0, 8"},
      {{{9, 1}},
       "arena 'test' asks for memory of node 9, which has none: nodes with memory are 0, 8"},
      {{{numa::kAnyNode, 1}},
       "arena 'test' asks for memory of node -1, which does not exist: nodes with memory are 0, 8"},
      {{{0, 1}, {8, 1}, {0, 1}},
       "arena 'test' asks for memory of node 0 twice: name each node once"},
      {{{0, 1}, {8, 0}},
       "arena 'test' asks for 0 bytes of node 8: ask for at least one, or leave the node out"},
  };
  for (const auto& [nodes, message] : cases) {
    const auto refused = plan_memory(request(nodes), topology);
    ASSERT_FALSE(refused) << message;
    EXPECT_EQ(refused.error().code, -EINVAL);
    EXPECT_EQ(refused.error().message, message);
  }
}

TEST_F(Plan, SizesBeyondAllAddressesDoNotOverflow) {
  const Topology topology = discovered(tree);
  for (const bool hugepages : {true, false}) {
    for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} / 2, std::size_t{1} << 47}) {
      MemoryRequest huge = request({{0, bytes}, {8, bytes}});
      huge.hugepages = hugepages;
      const auto refused = plan_memory(huge, topology);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, -ENOMEM);
      EXPECT_EQ(refused.error().message,
                "arena 'test' wants more memory than there are addresses for: ask for less than "
                "131072 GiB in all");
    }
  }
}

TEST(SizeText, UnitsAreExactOrRoundedDown) {
  EXPECT_EQ(size_text(0), "0 MiB");
  EXPECT_EQ(size_text(1), "1 B");
  EXPECT_EQ(size_text(4096), "4 KiB");
  EXPECT_EQ(size_text(kMegabyte), "1 MiB");
  EXPECT_EQ(size_text(kMegabyte + 1024), "1025 KiB");
  EXPECT_EQ(size_text(1023 * kMegabyte), "1023 MiB");
  EXPECT_EQ(size_text(1024 * kMegabyte), "1 GiB");
  EXPECT_EQ(size_text(100 * kMegabyte - 1), "99 MiB");
}

}  // namespace
}  // namespace nearpool
