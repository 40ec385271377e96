// SPDX-License-Identifier: BSD-3-Clause
// The node of the running thread and of lcores, on EAL threads and others.
#include "numa/current_node.hpp"

#include <gtest/gtest.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <sched.h>

#include <cerrno>
#include <thread>
#include <utility>

namespace nearpool::numa {
namespace {

Topology lcore_map(const char* map) {
  return std::move(*Topology::from_lcore_map(map, Topology::one_node()));
}

// As test cases run one after the other in one process, each leaves the machine's topology behind.
class CurrentNode : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(use_topology(std::move(*Topology::discover()))); }
};

int ask_current_node(void* topology) {
  return current_node(*static_cast<const Topology*>(topology));
}

int ask_memory_node(void* topology) {
  return static_cast<const Topology*>(topology)->memory_node(kAnyNode);
}

int on_lcore(unsigned lcore, int (*question)(void*), const Topology& topology) {
  EXPECT_EQ(rte_eal_remote_launch(question, const_cast<Topology*>(&topology), lcore), 0);
  return rte_eal_wait_lcore(lcore);
}

TEST_F(CurrentNode, FollowsTheCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const Topology topology = std::move(
      *Topology::synthetic({{.id = 2, .cpus = {0}}, {.id = 6, .memory_bytes = 0, .cpus = {1}}}));
  for (const int cpu : {0, 1}) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(current_node(topology), cpu == 0 ? 2 : 6);
    EXPECT_EQ(topology.memory_node(kAnyNode), 2);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(CurrentNode, EmulatedNodesFollowTheLcore) {
  const Topology topology = lcore_map("0:3,1:1,2:7");
  EXPECT_EQ(current_node(topology), 3);  // the main lcore is 0
  EXPECT_EQ(on_lcore(1, ask_current_node, topology), 1);
  EXPECT_EQ(on_lcore(2, ask_current_node, topology), 7);
  EXPECT_EQ(on_lcore(5, ask_current_node, topology), 1);
  EXPECT_EQ(on_lcore(2, ask_memory_node, topology), 7);
}

TEST_F(CurrentNode, ThreadWithoutLcoreIsOnTheLowestEmulatedNode) {
  const Topology topology = lcore_map("0:3,1:2");
  int seen = -1;
  std::thread([&] {
    ASSERT_EQ(rte_lcore_id(), static_cast<unsigned>(LCORE_ID_ANY));
    seen = current_node(topology);
  }).join();
  EXPECT_EQ(seen, 2);
}

TEST_F(CurrentNode, LcoreIsOnTheNodeOfItsFirstCpu) {
  const Topology topology =
      std::move(*Topology::synthetic({{.id = 4, .cpus = {1}}, {.id = 5, .cpus = {0}}}));
  // Lcores 0 to 7 float over CPUs 0 and 1.
  EXPECT_EQ(topology.node_of_lcore(7), 5);
  EXPECT_EQ(topology.node_of_lcore(RTE_MAX_LCORE), 4);
  EXPECT_EQ(topology.node_of_lcore(LCORE_ID_ANY), 4);
}

TEST_F(CurrentNode, SystemTopologyIsTheMachinesUntilReplaced) {
  EXPECT_FALSE(system_topology().emulated());
  const Topology& machine = system_topology();
  EXPECT_EQ(&machine, &system_topology());
  const std::size_t machine_nodes = machine.nodes().size();

  ASSERT_TRUE(use_topology(lcore_map("0:0,1:1,2:2")));
  EXPECT_TRUE(system_topology().emulated());
  EXPECT_EQ(system_topology().nodes().size(), 3U);
  EXPECT_EQ(machine.nodes().size(), machine_nodes) << "an older topology stays readable";
}

TEST_F(CurrentNode, PinnedTopologyStays) {
  {
    TopologyPin first = pin_topology();
    EXPECT_EQ(&first.topology(), &system_topology());
    const TopologyPin second(std::move(first));
    const auto refused = use_topology(lcore_map("0:1"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, -EBUSY);
    EXPECT_EQ(refused.error().message,
              "the NUMA topology cannot be replaced while an arena goes by it: emulate nodes "
              "before the first arena is created");
    EXPECT_FALSE(system_topology().emulated());
  }
  EXPECT_TRUE(use_topology(lcore_map("0:1"))) << "free again once the last pin is gone";
}

TEST_F(CurrentNode, PinsCount) {
  TopologyPin first = pin_topology();
  {
    TopologyPin second = pin_topology();
    first = std::move(second);
    EXPECT_FALSE(use_topology(lcore_map("0:1")));
  }
  EXPECT_FALSE(use_topology(lcore_map("0:1")));
  { const TopologyPin last(std::move(first)); }
  EXPECT_TRUE(use_topology(lcore_map("0:1")));
}

}  // namespace
}  // namespace nearpool::numa
