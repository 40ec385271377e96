// SPDX-License-Identifier: BSD-3-Clause
// What tests of topologies ask them in short.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "numa/topology.hpp"

namespace nearpool::test {

using numa::SyntheticNode;
using numa::Topology;
using Ids = std::vector<int>;

inline Ids ids_of(const Topology& topology) {
  Ids ids;
  for (const numa::Node& node : topology.nodes())
    ids.push_back(node.id);
  return ids;
}

inline Ids order_of(const Topology& topology, int node) {
  const auto order = topology.fallback_order(node);
  return {order.begin(), order.end()};
}

inline Topology described(std::vector<SyntheticNode> nodes,
                          const std::vector<std::vector<int>>& distances = {}) {
  auto topology = Topology::synthetic(std::move(nodes), distances);
  if (!topology) throw std::runtime_error(topology.error().message);
  return std::move(*topology);
}

}  // namespace nearpool::test
