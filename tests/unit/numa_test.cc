// SPDX-License-Identifier: BSD-3-Clause
// Topologies: read from node trees, described, and the questions they answer.
#include <gtest/gtest.h>
#include <numa.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "fake_sysfs.hpp"
#include "numa/topology.hpp"
#include "topology_questions.hpp"

namespace nearpool::numa {
namespace {

using test::described;
using test::FakeSysfs;
using test::Ids;
using test::ids_of;
using test::order_of;

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

Topology discovered(const FakeSysfs& tree) {
  Result<Topology> topology = Topology::discover(tree.root());
  if (!topology) throw std::runtime_error(topology.error().message);
  return std::move(*topology);
}

// ---- node trees ---------------------------------------------------------------------------------

TEST(Discover, SparseIds) {
  FakeSysfs tree;
  tree.node(0, 1 << 20, {0, 1}, "10 40").node(8, 1 << 21, {64, 65}, "40 10");
  const Topology topology = discovered(tree);

  EXPECT_EQ(ids_of(topology), (Ids{0, 8}));
  EXPECT_FALSE(topology.emulated());
  EXPECT_EQ(topology.find(0)->memory_bytes, kGigabyte);
  EXPECT_EQ(topology.find(8)->memory_bytes, 2 * kGigabyte);
  EXPECT_EQ(topology.find(8)->cpus, (Ids{64, 65}));
  EXPECT_EQ(topology.find(1), nullptr);
  EXPECT_EQ(topology.distance(0, 8), 40);
  EXPECT_EQ(topology.distance(8, 8), 10);
  EXPECT_EQ(topology.node_of_cpu(1), 0);
  EXPECT_EQ(topology.node_of_cpu(65), 8);
  EXPECT_EQ(topology.memory_node(8), 8);
  EXPECT_EQ(topology.real_node(8), 8);
}

TEST(Discover, NodeIdsAreNumbersNotText) {
  FakeSysfs tree;
  tree.node(2, 1024, {2}, "10 20").node(10, 1024, {10}, "20 10");
  tree.write(2, "../nodes/meminfo", "").write(2, "../has_cpu", "2,10\n");
  EXPECT_EQ(ids_of(discovered(tree)), (Ids{2, 10}));
}

TEST(Discover, NodeWithoutMemoryTakesTheNearest) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10 30 20").node(1, 0, {1}, "30 10 15").node(2, 1024, {2}, "20 15 10");
  const Topology topology = discovered(tree);

  EXPECT_FALSE(topology.find(1)->has_memory());
  EXPECT_EQ(topology.memory_node(1), 2);
  EXPECT_EQ(order_of(topology, 1), (Ids{2, 0}));
  EXPECT_EQ(order_of(topology, 0), (Ids{0, 2}));
  EXPECT_EQ(topology.node_of_cpu(1), 1);
}

TEST(Discover, NodeWithoutCpus) {
  FakeSysfs tree;
  tree.node(0, 1024, {0, 1}, "10 17").node(1, 4096, {}, "17 10");
  tree.write(1, "cpulist", "\n");
  const Topology topology = discovered(tree);

  EXPECT_TRUE(topology.find(1)->cpus.empty());
  EXPECT_EQ(topology.memory_node(1), 1);
  EXPECT_EQ(order_of(topology, 0), (Ids{0, 1}));
}

TEST(Discover, CpuListServesWhereThereAreNoEntries) {
  FakeSysfs tree;
  tree.node(0, 1024, {}, "10 20").write(0, "cpulist", "0-2,7\n");
  tree.node(1, 1024, {4}, "20 10").write(1, "cpulist", "0-9\n");
  const Topology topology = discovered(tree);
  EXPECT_EQ(topology.find(0)->cpus, (Ids{0, 1, 2, 7}));
  EXPECT_EQ(topology.find(1)->cpus, (Ids{4}));
}

TEST(Discover, CpuOfNoNodeIsOnTheLowest) {
  FakeSysfs tree;
  tree.node(3, 1024, {0}, "10 20").node(5, 1024, {4}, "20 10");
  const Topology topology = discovered(tree);
  for (const int cpu : {-1, 1, 3, 5, 4000})
    EXPECT_EQ(topology.node_of_cpu(cpu), 3) << cpu;
  EXPECT_EQ(topology.node_of_cpu(4), 5);
}

TEST(Discover, EqualDistancesGoToTheLowerId) {
  FakeSysfs tree;
  tree.node(0, 0, {0}, "10 20 20").node(4, 1024, {1}, "20 10 20").node(6, 1024, {2}, "20 20 10");
  const Topology topology = discovered(tree);
  EXPECT_EQ(topology.memory_node(0), 4);
  EXPECT_EQ(order_of(topology, 6), (Ids{6, 4}));
}

TEST(Discover, MissingOrDamagedDistances) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10").node(1, 1024, {1}, "x 9 300").node(2, 1024, {2}, "");
  const Topology topology = discovered(tree);
  for (const int from : {0, 1, 2}) {
    for (const int to : {0, 1, 2})
      EXPECT_EQ(topology.distance(from, to), from == to ? 10 : 21);
  }
}

TEST(Discover, NodeItselfComesFirstWhateverTheDistances) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10 10").node(1, 1024, {1}, "10 20");
  EXPECT_EQ(order_of(discovered(tree), 1), (Ids{1, 0}));
}

TEST(Discover, IdsAboveTheRangeAreNamedAndTheirCpusCountAsNear) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10 20 40").node(1, 1024, {1}, "20 10 30");
  tree.node(40, 1024, {2}, "40 30 10");
  const Topology topology = discovered(tree);
  EXPECT_EQ(ids_of(topology), (Ids{0, 1}));
  EXPECT_EQ((Ids{topology.ignored_nodes().begin(), topology.ignored_nodes().end()}), (Ids{40}));
  EXPECT_EQ(topology.node_of_cpu(2), 1);
  EXPECT_EQ(topology.distance(1, 0), 20);
}

TEST(Discover, HugepagesPerSize) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10").hugepages(0, 1048576, 2, 1).hugepages(0, 2048, 512, 100);
  const Topology topology = discovered(tree);
  const auto& sizes = topology.find(0)->hugepages;
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].page_bytes, std::size_t{2} << 20);
  EXPECT_EQ(sizes[0].total, 512U);
  EXPECT_EQ(sizes[0].free, 100U);
  EXPECT_EQ(sizes[1].page_bytes, std::size_t{1} << 30);
  EXPECT_EQ(sizes[1].free, 1U);
}

TEST(Discover, NoNodeHasMemory) {
  FakeSysfs tree;
  tree.node(0, 0, {0}, "10");
  const auto topology = Topology::discover(tree.root());
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code, -ENODEV);
  EXPECT_EQ(topology.error().message,
            "none of the nodes 0 to 31 in " + tree.root() +
                " has memory that this process may use: check the cpuset of the process or "
                "container");
}

TEST(Discover, HiddenTreeIsOneNodeZero) {
  FakeSysfs empty;
  for (const std::string& root : {empty.root(), empty.root() + "/not-there"}) {
    const auto topology = Topology::discover(root);
    ASSERT_TRUE(topology);
    EXPECT_EQ(ids_of(*topology), (Ids{0}));
    EXPECT_TRUE(topology->find(0)->has_memory());
    EXPECT_FALSE(topology->find(0)->cpus.empty());
    EXPECT_EQ(topology->memory_node(0), 0);
    EXPECT_EQ(topology->memory_node(kAnyNode), 0);
    EXPECT_EQ(topology->node_of_cpu(0), 0);
    EXPECT_TRUE(topology->sysfs_root().empty());
  }
}

// The machine's own tree says what libnuma says.
TEST(Discover, AgreesWithLibnuma) {
  const auto topology = Topology::discover();
  ASSERT_TRUE(topology);
  ASSERT_FALSE(topology->nodes().empty());
  if (numa_available() < 0) {
    EXPECT_EQ(ids_of(*topology), (Ids{0}));
    return;
  }
  bitmask* cpus = numa_allocate_cpumask();
  for (const Node& node : topology->nodes()) {
    EXPECT_EQ(static_cast<long long>(node.memory_bytes),
              std::max(0LL, numa_node_size64(node.id, nullptr)));
    ASSERT_EQ(numa_node_to_cpus(node.id, cpus), 0);
    for (const int cpu : node.cpus) {
      EXPECT_TRUE(numa_bitmask_isbitset(cpus, static_cast<unsigned>(cpu))) << cpu;
      EXPECT_EQ(topology->node_of_cpu(cpu), node.id);
    }
    EXPECT_EQ(node.cpus.size(), numa_bitmask_weight(cpus));
    for (const Node& other : topology->nodes()) {
      EXPECT_EQ(topology->distance(node.id, other.id), numa_distance(node.id, other.id));
    }
  }
  numa_free_cpumask(cpus);
}

// ---- described topologies -----------------------------------------------------------------------

TEST(Synthetic, OrderOfDescriptionDoesNotMatter) {
  const Topology topology =
      described({{.id = 8, .cpus = {3, 1}}, {.id = 0, .cpus = {0}}}, {{10, 31}, {32, 10}});
  EXPECT_TRUE(topology.emulated());
  EXPECT_FALSE(topology.by_lcore());
  EXPECT_EQ(ids_of(topology), (Ids{0, 8}));
  EXPECT_EQ(topology.find(8)->cpus, (Ids{1, 3}));
  EXPECT_EQ(topology.distance(8, 0), 31);
  EXPECT_EQ(topology.distance(0, 8), 32);
  EXPECT_EQ(topology.node_of_cpu(3), 8);
}

TEST(Synthetic, FallbackByDistance) {
  const Topology topology =
      described({{.id = 0}, {.id = 1}, {.id = 2, .memory_bytes = 0}, {.id = 3}},
                {{10, 40, 20, 30}, {40, 10, 20, 30}, {30, 20, 10, 20}, {25, 25, 20, 10}});
  EXPECT_EQ(order_of(topology, 0), (Ids{0, 3, 1}));
  EXPECT_EQ(order_of(topology, 1), (Ids{1, 3, 0}));
  EXPECT_EQ(order_of(topology, 2), (Ids{1, 3, 0}));
  EXPECT_EQ(order_of(topology, 3), (Ids{3, 0, 1}));
  EXPECT_EQ(topology.memory_node(2), 1);
}

TEST(Synthetic, UnknownNodesStandForTheLowestWithMemory) {
  const Topology topology = described({{.id = 1, .memory_bytes = 0}, {.id = 2}, {.id = 3}});
  for (const int unknown : {-2, 0, 7, 31, 32, 65535}) {
    EXPECT_EQ(topology.memory_node(unknown), 2) << unknown;
    EXPECT_EQ(order_of(topology, unknown), (Ids{2, 3})) << unknown;
    EXPECT_EQ(topology.distance(1, unknown), 255) << unknown;
    EXPECT_EQ(topology.find(unknown), nullptr) << unknown;
  }
  EXPECT_EQ(topology.memory_node(3), 3);
}

TEST(Synthetic, RealNodes) {
  const Topology topology = described({{.id = 0}, {.id = 1, .real_node = 4}});
  EXPECT_EQ(topology.real_node(0), 0);
  EXPECT_EQ(topology.real_node(1), 4);
}

TEST(Synthetic, HighestIds) {
  const Topology topology = described({{.id = 31, .lcores = {127}}, {.id = 30}});
  EXPECT_TRUE(topology.by_lcore());
  EXPECT_EQ(topology.mapped_node(127), 31);
  EXPECT_EQ(topology.mapped_node(126), 30);
  EXPECT_EQ(topology.mapped_node(128), 30);
  EXPECT_EQ(topology.node_of_lcore(127), 31);
  EXPECT_EQ(topology.node_of_lcore(~0U), 30);
}

struct BadDescription {
  std::vector<SyntheticNode> nodes;
  std::vector<std::vector<int>> distances;
  std::string message;
};

TEST(Synthetic, BadDescriptionsAreRefused) {
  const std::vector<BadDescription> cases = {
      {{}, {}, "none of 0 nodes has memory: at least one needs some"},
      {{{.id = 0, .memory_bytes = 0}, {.id = 1, .memory_bytes = 0}},
       {},
       "none of 2 nodes has memory: at least one needs some"},
      {{{.id = 32}}, {}, "node 32 is out of range: node ids are 0 to 31"},
      {{{.id = -1}}, {}, "node -1 is out of range: node ids are 0 to 31"},
      {{{.id = 2}, {.id = 2}}, {}, "node 2 is described twice: describe it once"},
      {{{.id = 2, .real_node = -1}},
       {},
       "node 2 takes its memory from machine node -1, which is out of range: machine nodes are 0 "
       "to "
       "31"},
      {{{.id = 0, .cpus = {1}}, {.id = 1, .cpus = {1}}},
       {},
       "CPU 1 of node 1 is negative or named before: give each CPU to one node"},
      {{{.id = 0, .cpus = {-1}}},
       {},
       "CPU -1 of node 0 is negative or named before: give each CPU to one node"},
      {{{.id = 0, .lcores = {3, 3}}},
       {},
       "lcore 3 of node 0 is above 127 or named before: give each lcore to one node"},
      {{{.id = 0, .lcores = {128}}},
       {},
       "lcore 128 of node 0 is above 127 or named before: give each lcore to one node"},
      {{{.id = 0}, {.id = 1}},
       {{10, 20}},
       "the distances are not 2 rows of 2: give one for each pair of nodes, or none at all"},
      {{{.id = 0}, {.id = 1}},
       {{10, 20}, {20}},
       "the distances are not 2 rows of 2: give one for each pair of nodes, or none at all"},
      {{{.id = 0}}, {{9}}, "distance 9 is out of range: distances are 10 to 255"},
      {{{.id = 0}}, {{256}}, "distance 256 is out of range: distances are 10 to 255"},
  };
  for (const BadDescription& bad : cases) {
    const auto topology = Topology::synthetic(bad.nodes, bad.distances);
    ASSERT_FALSE(topology) << bad.message;
    EXPECT_EQ(topology.error().code, -EINVAL);
    EXPECT_EQ(topology.error().message, bad.message);
  }
}

}  // namespace
}  // namespace nearpool::numa
