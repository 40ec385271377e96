// SPDX-License-Identifier: BSD-3-Clause
// Topologies that are not the machine's: described by a test, or by a map of lcores to nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>

#include "numa/topology.hpp"
#include "numa/topology_parts.hpp"

namespace nearpool::numa {
namespace {

bool node_in_range(int id) {
  return id >= 0 && id < kMaxNodes;
}

Result<void> check_nodes(const std::vector<SyntheticNode>& nodes) {
  std::set<int> ids;
  std::set<int> cpus;
  std::set<unsigned> lcores;
  for (const SyntheticNode& node : nodes) {
    if (!node_in_range(node.id)) {
      return fail(-EINVAL, fmt::format("node {} is out of range: node ids are 0 to {}", node.id,
                                       kMaxNodes - 1));
    }
    if (!ids.insert(node.id).second) {
      return fail(-EINVAL, fmt::format("node {} is described twice: describe it once", node.id));
    }
    if (!node_in_range(node.real_node)) {
      return fail(-EINVAL,
                  fmt::format("node {} takes its memory from machine node {}, which is out "
                              "of range: machine nodes are 0 to {}",
                              node.id, node.real_node, kMaxNodes - 1));
    }
    for (const int cpu : node.cpus) {
      if (cpu < 0 || !cpus.insert(cpu).second) {
        return fail(-EINVAL, fmt::format("CPU {} of node {} is negative or named before: give each "
                                         "CPU to one node",
                                         cpu, node.id));
      }
    }
    for (const unsigned lcore : node.lcores) {
      if (lcore >= kMaxLcores || !lcores.insert(lcore).second) {
        return fail(-EINVAL, fmt::format("lcore {} of node {} is above {} or named before: give "
                                         "each lcore to one node",
                                         lcore, node.id, kMaxLcores - 1));
      }
    }
  }
  const auto has_memory = [](const SyntheticNode& node) { return node.memory_bytes != 0; };
  if (std::none_of(nodes.begin(), nodes.end(), has_memory)) {
    return fail(-EINVAL,
                fmt::format("none of {} nodes has memory: at least one needs some", nodes.size()));
  }
  return {};
}

Result<void> check_distances(const std::vector<std::vector<int>>& distances, std::size_t nodes) {
  const auto right_size = [&](const auto& row) { return row.size() == nodes; };
  if (!right_size(distances) || !std::all_of(distances.begin(), distances.end(), right_size)) {
    return fail(-EINVAL, fmt::format("the distances are not {0} rows of {0}: give one for each "
                                     "pair of nodes, or none at all",
                                     nodes));
  }
  for (const auto& row : distances) {
    for (const int distance : row) {
      if (distance < kLocalDistance || distance > 255) {
        return fail(-EINVAL, fmt::format("distance {} is out of range: distances are {} to 255",
                                         distance, kLocalDistance));
      }
    }
  }
  return {};
}

// Decimal digits only. Numbers too large for an unsigned come back as its maximum.
Result<unsigned> parse_number(std::string_view text, std::string_view pair) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return fail(-EINVAL, fmt::format("'{}' in the lcore map is no lcore:node pair: give pairs of "
                                     "numbers such as 0:0,1:1",
                                     pair));
  }
  return error == std::errc::result_out_of_range ? ~0U : value;
}

using LcoreMap = std::map<unsigned, int>;

Result<void> parse_pair(std::string_view pair, LcoreMap& lcores) {
  const std::size_t colon = std::min(pair.find(':'), pair.size());
  const std::string_view lcore_text = pair.substr(0, colon);
  const std::string_view node_text = pair.substr(std::min(colon + 1, pair.size()));
  const Result<unsigned> lcore = parse_number(lcore_text, pair);
  if (!lcore) return tl::unexpected(lcore.error());
  const Result<unsigned> node = parse_number(node_text, pair);
  if (!node) return tl::unexpected(node.error());
  if (*lcore >= kMaxLcores) {
    return fail(-EINVAL,
                fmt::format("lcore {} in the lcore map is out of range: lcores are 0 to {}",
                            lcore_text, kMaxLcores - 1));
  }
  if (*node >= static_cast<unsigned>(kMaxNodes)) {
    return fail(-EINVAL, fmt::format("node {} in the lcore map is out of range: nodes are 0 to {}",
                                     node_text, kMaxNodes - 1));
  }
  if (!lcores.emplace(*lcore, static_cast<int>(*node)).second) {
    return fail(-EINVAL,
                fmt::format("lcore {} is named twice in the lcore map: name it once", *lcore));
  }
  return {};
}

Result<LcoreMap> parse_lcore_map(std::string_view map) {
  if (map.empty()) {
    return fail(-EINVAL, "the lcore map is empty: give lcore:node pairs such as 0:0,1:1");
  }
  LcoreMap lcores;
  for (std::size_t start = 0; start <= map.size();) {
    const std::size_t comma = std::min(map.find(',', start), map.size());
    if (auto parsed = parse_pair(map.substr(start, comma - start), lcores); !parsed) {
      return tl::unexpected(parsed.error());
    }
    start = comma + 1;
  }
  return lcores;
}

}  // namespace

Result<Topology> Topology::synthetic(std::vector<SyntheticNode> nodes,
                                     const std::vector<std::vector<int>>& distances) {
  if (auto checked = check_nodes(nodes); !checked) return tl::unexpected(checked.error());
  const auto matrix = distances.empty() ? flat_distances(nodes.size()) : distances;
  if (auto checked = check_distances(matrix, nodes.size()); !checked) {
    return tl::unexpected(checked.error());
  }
  // Topologies are in ascending order of ids, the description need not be.
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return nodes[a].id < nodes[b].id; });

  Parts parts;
  parts.emulated = true;
  for (const std::size_t i : order) {
    SyntheticNode& from = nodes[i];
    std::sort(from.cpus.begin(), from.cpus.end());
    std::sort(from.lcores.begin(), from.lcores.end());
    parts.by_lcore |= !from.lcores.empty();
    Node node;
    node.id = from.id;
    node.memory_bytes = from.memory_bytes;
    node.cpus = std::move(from.cpus);
    node.lcores = std::move(from.lcores);
    parts.nodes.push_back(std::move(node));
    parts.real_nodes.push_back(from.real_node);
    std::vector<int> row;
    for (const std::size_t j : order)
      row.push_back(matrix[i][j]);
    parts.distances.push_back(std::move(row));
  }
  return Topology(std::move(parts));
}

Result<Topology> Topology::from_lcore_map(std::string_view map, const Topology& real) {
  const Result<LcoreMap> lcores = parse_lcore_map(map);
  if (!lcores) return tl::unexpected(lcores.error());

  std::map<int, std::vector<unsigned>> by_node;
  for (const auto& [lcore, node] : *lcores)
    by_node[node].push_back(lcore);

  Parts parts;
  parts.emulated = true;
  parts.by_lcore = true;
  parts.sysfs_root = real.sysfs_root_;
  parts.distances = flat_distances(by_node.size());
  const std::span<const int> with_memory = real.fallback_order(real.nodes().front().id);
  std::size_t turn = 0;
  for (auto& [id, its_lcores] : by_node) {
    const Node* same = real.find(id);
    const int source =
        same != nullptr && same->has_memory() ? id : with_memory[turn++ % with_memory.size()];
    Node node;
    node.id = id;
    node.memory_bytes = real.find(source)->memory_bytes;
    node.lcores = std::move(its_lcores);
    parts.nodes.push_back(std::move(node));
    parts.real_nodes.push_back(real.real_node(source));
  }
  return Topology(std::move(parts));
}

}  // namespace nearpool::numa
