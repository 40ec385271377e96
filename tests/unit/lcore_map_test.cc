// SPDX-License-Identifier: BSD-3-Clause
// Topologies made up from a map of lcores to nodes.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "numa/topology.hpp"
#include "topology_questions.hpp"

namespace nearpool::numa {
namespace {

using test::described;
using test::Ids;
using test::ids_of;
using test::order_of;

TEST(LcoreMap, NamedAndUnnamedLcores) {
  const auto topology = Topology::from_lcore_map("0:1,1:0,5:1,127:8", Topology::one_node());
  ASSERT_TRUE(topology);
  EXPECT_TRUE(topology->emulated());
  EXPECT_TRUE(topology->by_lcore());
  EXPECT_EQ(ids_of(*topology), (Ids{0, 1, 8}));
  EXPECT_EQ(topology->mapped_node(0), 1);
  EXPECT_EQ(topology->mapped_node(1), 0);
  EXPECT_EQ(topology->mapped_node(5), 1);
  EXPECT_EQ(topology->mapped_node(127), 8);
  EXPECT_EQ(topology->mapped_node(2), 0);
  EXPECT_EQ(topology->find(1)->lcores, (std::vector<unsigned>{0, 5}));
  EXPECT_EQ(topology->distance(0, 0), 10);
  EXPECT_EQ(topology->distance(0, 8), 21);
  EXPECT_EQ(order_of(*topology, 8), (Ids{8, 0, 1}));
}

TEST(LcoreMap, UnnamedLcoresAreOnTheLowestNodeNamed) {
  const auto topology = Topology::from_lcore_map("3:9,4:5", Topology::one_node());
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->mapped_node(0), 5);
  EXPECT_EQ(topology->mapped_node(3), 9);
}

TEST(LcoreMap, MemoryComesFromTheSameNodeOrFromAllInTurn) {
  const Topology real = described({{.id = 0, .memory_bytes = 100},
                                   {.id = 1, .memory_bytes = 0},
                                   {.id = 4, .memory_bytes = 400, .real_node = 4}});
  const auto topology = Topology::from_lcore_map("0:1,1:2,2:3,3:4", real);
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->real_node(1), 0);
  EXPECT_EQ(topology->real_node(2), 4);
  EXPECT_EQ(topology->real_node(3), 0);
  EXPECT_EQ(topology->real_node(4), 4);
  EXPECT_EQ(topology->find(1)->memory_bytes, 100U);
  EXPECT_EQ(topology->find(2)->memory_bytes, 400U);
}

TEST(LcoreMap, BadMapsAreRefused) {
  const auto no_pair = [](const std::string& pair) {
    return "'" + pair + "' in the lcore map is no lcore:node pair: give pairs of numbers such as " +
           "0:0,1:1";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the lcore map is empty: give lcore:node pairs such as 0:0,1:1"},
      {"0", no_pair("0")},
      {"0:", no_pair("0:")},
      {":0", no_pair(":0")},
      {"0:0,", no_pair("")},
      {",0:0", no_pair("")},
      {"0:0,,1:1", no_pair("")},
      {"0:0;1:1", no_pair("0:0;1:1")},
      {"0:0:1", no_pair("0:0:1")},
      {"-1:0", no_pair("-1:0")},
      {"0:-1", no_pair("0:-1")},
      {"+1:0", no_pair("+1:0")},
      {"0: 1", no_pair("0: 1")},
      {"0x1:0", no_pair("0x1:0")},
      {"a:b", no_pair("a:b")},
      {"128:0", "lcore 128 in the lcore map is out of range: lcores are 0 to 127"},
      {"4294967296:0", "lcore 4294967296 in the lcore map is out of range: lcores are 0 to 127"},
      {"0:32", "node 32 in the lcore map is out of range: nodes are 0 to 31"},
      {"0:99999999999", "node 99999999999 in the lcore map is out of range: nodes are 0 to 31"},
      {"3:0,3:0", "lcore 3 is named twice in the lcore map: name it once"},
      {"3:0,1:1,03:1", "lcore 3 is named twice in the lcore map: name it once"},
  };
  for (const auto& [map, message] : cases) {
    const auto topology = Topology::from_lcore_map(map, Topology::one_node());
    ASSERT_FALSE(topology) << map;
    EXPECT_EQ(topology.error().code, -EINVAL) << map;
    EXPECT_EQ(topology.error().message, message);
  }
}

}  // namespace
}  // namespace nearpool::numa
