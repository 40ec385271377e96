// SPDX-License-Identifier: BSD-3-Clause
// Internal to lib/numa: what a Topology is made from, by each of the ways to make one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "numa/topology.hpp"

namespace nearpool::numa {

struct Topology::Parts {
  bool emulated = false;
  bool by_lcore = false;
  std::string sysfs_root = kSysfsNodes;
  std::vector<Node> nodes;                        // ascending by id, at least one with memory
  std::vector<std::vector<int>> distances;        // as nodes, both ways
  std::vector<int> real_nodes;                    // as nodes
  std::vector<int> ignored;                       // ascending
  std::vector<std::pair<int, int>> foreign_cpus;  // CPU of an ignored node, node it counts as on
};

// 10 to itself, 21 to all others.
std::vector<std::vector<int>> flat_distances(std::size_t nodes);

}  // namespace nearpool::numa
