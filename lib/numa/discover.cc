// SPDX-License-Identifier: BSD-3-Clause
// The machine's own nodes.
//
// What to read from where: libnuma says whether the kernel does NUMA at all and which nodes this
// process may use, as only a system call knows that. Nodes, memory, CPUs, distances and hugepages
// come from the kernel's node tree, which is where libnuma has them from too (numa_test compares
// them), but which tests can replace, and which has the hugepages that libnuma knows nothing of.
#include <fmt/format.h>
#include <numa.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "numa/node_memory.hpp"
#include "numa/sysfs.hpp"
#include "numa/topology.hpp"
#include "numa/topology_parts.hpp"

namespace nearpool::numa {
namespace {

// Ids of the nodes that a cpuset leaves this process.
std::set<int> allowed_nodes() {
  std::set<int> allowed;
  bitmask* mask = numa_get_mems_allowed();
  for (unsigned id = 0; id < mask->size; ++id) {
    if (numa_bitmask_isbitset(mask, id) != 0) allowed.insert(static_cast<int>(id));
  }
  numa_bitmask_free(mask);
  return allowed;
}

// The entries of the folder are what the EAL goes by; the list also serves trees without them.
std::vector<int> read_cpus(const std::string& path) {
  std::vector<int> cpus = numbered_entries(path, "cpu");
  return cpus.empty() ? parse_id_list(read_file(path + "/cpulist")) : cpus;
}

Node read_node(const std::string& root, int id) {
  const std::string path = node_path(root, id);
  Node node;
  node.id = id;
  node.memory_bytes = meminfo_bytes(read_file(path + "/meminfo"), "MemTotal").value_or(0);
  node.cpus = read_cpus(path);
  node.hugepages = read_hugepages(root, id);
  return node;
}

// One row: distances from a node to all nodes of the tree, in ascending order of their ids. Where
// the kernel's file says nothing sensible, 10 and 21 stand in.
std::vector<int> read_distances(const std::string& root, const std::vector<int>& ids,
                                std::size_t from) {
  const std::string text = read_file(node_path(root, ids[from]) + "/distance");
  std::vector<int> row = flat_distances(ids.size())[from];
  std::size_t start = 0;
  for (int& distance : row) {
    start = std::min(text.find_first_not_of(" \n", start), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", start), text.size());
    const auto value = parse_count(std::string_view(text).substr(start, end - start));
    if (value && *value >= kLocalDistance && *value <= 255) distance = static_cast<int>(*value);
    start = end;
  }
  return row;
}

}  // namespace

Topology Topology::one_node() {
  Parts parts;
  parts.sysfs_root.clear();
  Node node;
  node.id = 0;
  node.memory_bytes = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES))) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu)
    node.cpus.push_back(cpu);
  node.hugepages = read_hugepages(parts.sysfs_root, 0);
  parts.nodes.push_back(std::move(node));
  parts.distances = flat_distances(1);
  parts.real_nodes = {0};
  return Topology(std::move(parts));
}

Result<Topology> Topology::discover(const std::string& sysfs_root) {
  const bool machine = sysfs_root == kSysfsNodes;
  if (machine && numa_available() < 0) return one_node();
  const std::vector<int> ids = numbered_entries(sysfs_root, "node");
  if (ids.empty()) return one_node();

  Parts parts;
  parts.sysfs_root = sysfs_root;
  std::vector<std::size_t> kept;  // as parts.nodes, the index in ids
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= kMaxNodes) {
      parts.ignored.push_back(ids[i]);
      continue;
    }
    kept.push_back(i);
    parts.nodes.push_back(read_node(sysfs_root, ids[i]));
    parts.real_nodes.push_back(ids[i]);
  }
  if (machine) {
    const std::set<int> allowed = allowed_nodes();
    for (Node& node : parts.nodes)
      node.memory_allowed = allowed.count(node.id) != 0;
  }
  if (std::none_of(parts.nodes.begin(), parts.nodes.end(),
                   [](const Node& node) { return node.has_memory(); })) {
    return fail(-ENODEV,
                fmt::format("none of the nodes 0 to {} in {} has memory that this process may use: "
                            "check the cpuset of the process or container",
                            kMaxNodes - 1, sysfs_root));
  }
  for (const std::size_t i : kept) {
    const std::vector<int> row = read_distances(sysfs_root, ids, i);
    std::vector<int>& of_kept = parts.distances.emplace_back();
    for (const std::size_t j : kept)
      of_kept.push_back(row[j]);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < kMaxNodes) continue;
    const std::vector<int> row = read_distances(sysfs_root, ids, i);
    const std::size_t nearest = *std::min_element(
        kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
    for (const int cpu : read_cpus(node_path(sysfs_root, ids[i]))) {
      parts.foreign_cpus.emplace_back(cpu, ids[nearest]);
    }
  }
  return Topology(std::move(parts));
}

}  // namespace nearpool::numa
