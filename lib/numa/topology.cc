// SPDX-License-Identifier: BSD-3-Clause
#include "numa/topology.hpp"

#include <algorithm>
#include <tuple>

#include "numa/topology_parts.hpp"

namespace nearpool::numa {
namespace {

constexpr int kUnreachable = 255;  // as ACPI has it

// Ids of the nodes with memory, in the order in which node `from` should try them.
std::vector<int> fallback_from(std::size_t from, const std::vector<Node>& nodes,
                               const std::vector<int>& distances) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].has_memory()) order.push_back(i);
  }
  // The node itself comes first whatever the distances say; firmware has been seen to be wrong.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(a != from, distances[a], a) < std::tuple(b != from, distances[b], b);
  });
  std::vector<int> ids;
  for (const std::size_t i : order)
    ids.push_back(nodes[i].id);
  return ids;
}

}  // namespace

std::vector<std::vector<int>> flat_distances(std::size_t nodes) {
  std::vector<std::vector<int>> distances(nodes, std::vector<int>(nodes, kRemoteDistance));
  for (std::size_t i = 0; i < nodes; ++i)
    distances[i][i] = kLocalDistance;
  return distances;
}

Topology::Topology(Parts parts)
    : emulated_(parts.emulated),
      by_lcore_(parts.by_lcore),
      sysfs_root_(std::move(parts.sysfs_root)),
      nodes_(std::move(parts.nodes)),
      ignored_(std::move(parts.ignored)),
      distances_(std::move(parts.distances)),
      real_nodes_(std::move(parts.real_nodes)) {
  index_.fill(kNoIndex);
  lcore_nodes_.fill(nodes_.front().id);
  lowest_with_memory_ = nodes_.size();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    index_[static_cast<std::size_t>(node.id)] = i;
    fallback_.push_back(fallback_from(i, nodes_, distances_[i]));
    if (node.has_memory()) lowest_with_memory_ = std::min(lowest_with_memory_, i);
    for (const unsigned lcore : node.lcores)
      lcore_nodes_[lcore] = node.id;
    for (const int cpu : node.cpus)
      parts.foreign_cpus.emplace_back(cpu, node.id);
  }
  for (const auto& [cpu, node] : parts.foreign_cpus) {
    const auto position = static_cast<std::size_t>(cpu);
    if (position >= cpu_nodes_.size()) cpu_nodes_.resize(position + 1, nodes_.front().id);
    cpu_nodes_[position] = node;
  }
}

const Node* Topology::find(int id) const {
  const std::size_t index = index_of(id);
  return index == kNoIndex ? nullptr : &nodes_[index];
}

int Topology::distance(int from, int to) const {
  const std::size_t a = index_of(from);
  const std::size_t b = index_of(to);
  return a == kNoIndex || b == kNoIndex ? kUnreachable : distances_[a][b];
}

int Topology::memory_node(int node) const {
  return fallback_[resolve(node)].front();
}

std::span<const int> Topology::fallback_order(int node) const {
  return fallback_[resolve(node)];
}

int Topology::real_node(int node) const {
  return real_nodes_[resolve(node)];
}

}  // namespace nearpool::numa
