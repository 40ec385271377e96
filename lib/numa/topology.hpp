// SPDX-License-Identifier: BSD-3-Clause
// NUMA nodes, their memory, CPUs and distances.
//
// A Topology is a value: it does not change after it was made, so any thread may read it. There are
// three kinds:
//   discovered  the machine's own nodes;
//   emulated    nodes of a lcore map (--numa-map): lcores are on the nodes named, memory comes from
//               the machine's nodes;
//   synthetic   nodes that a test describes one by one; also counts as emulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

namespace nearpool::numa {

inline constexpr int kAnyNode = -1;          // stands for the node of the calling thread
inline constexpr int kMaxNodes = 32;         // node ids are 0 to 31, not necessarily without gaps
inline constexpr unsigned kMaxLcores = 128;  // lcore ids are 0 to 127, as RTE_MAX_LCORE says
inline constexpr int kLocalDistance = 10;    // ACPI's units
inline constexpr int kRemoteDistance = 21;

inline constexpr const char* kSysfsNodes = "/sys/devices/system/node";

// Hugepages of one size on one node, when the topology was made.
struct HugepageCount {
  std::size_t page_bytes = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

struct Node {
  int id = 0;
  std::uint64_t memory_bytes = 0;        // 0: a node without memory
  bool memory_allowed = true;            // false: the process may not use it (cpuset)
  std::vector<int> cpus;                 // ascending; empty: a node without CPUs, or emulated
  std::vector<unsigned> lcores;          // ascending; emulated nodes only
  std::vector<HugepageCount> hugepages;  // ascending by size; empty when emulated

  bool has_memory() const { return memory_bytes != 0 && memory_allowed; }
};

// A node as a test describes it.
struct SyntheticNode {
  int id = 0;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::vector<int> cpus = {};
  std::vector<unsigned> lcores = {};  // if any node names some, threads are placed by lcore
  int real_node = 0;                  // machine node that its memory really comes from
};

class Topology {
 public:
  // Reads the nodes below sysfs_root. Where the kernel has no NUMA support or the tree is hidden
  // (containers), the machine is one node 0 with all memory and CPUs; never -1.
  // -ENODEV: there are nodes, but none has memory that this process may use.
  static Result<Topology> discover(const std::string& sysfs_root = kSysfsNodes);

  // distances[i][j] from the i-th to the j-th node of the list; empty: 10 to itself, 21 to others.
  // -EINVAL: no node, an id out of range or twice, a CPU or lcore twice, no node with memory,
  // distances of another shape or below 10.
  static Result<Topology> synthetic(std::vector<SyntheticNode> nodes,
                                    const std::vector<std::vector<int>>& distances = {});

  // map: "lcore:node[,lcore:node...]". Lcores that are not named are on the lowest node named.
  // Distances are 10 and 21. The memory of an emulated node comes from the machine node of the same
  // id, or else from the machine's nodes with memory in turn. -EINVAL: not of that form.
  static Result<Topology> from_lcore_map(std::string_view map, const Topology& real);

  // One node 0 with all memory and CPUs: what discover() says of a machine without NUMA.
  static Topology one_node();

  // Whether the nodes are not the machine's own.
  bool emulated() const { return emulated_; }
  // Whether a thread's node follows from its lcore id instead of the CPU it runs on.
  bool by_lcore() const { return by_lcore_; }

  // Ascending by id.
  std::span<const Node> nodes() const { return nodes_; }
  // nullptr: no such node.
  const Node* find(int id) const;
  // Nodes of the machine that were left out, since their ids are above the range; their CPUs count
  // as on the nearest node that is in. Ascending.
  std::span<const int> ignored_nodes() const { return ignored_; }

  // 10 is the same node. A node that is not in the topology is 255 (unreachable) from all others.
  int distance(int from, int to) const;

  // The node to take memory from for that node: itself if it has memory, else the nearest that has,
  // of equally near ones the lowest. kAnyNode: for the node of the calling thread. An id that is no
  // node of the topology: the lowest node with memory. No system call.
  int memory_node(int node) const;

  // All nodes with memory, nearest first, memory_node(node) at the front. Arguments as above.
  std::span<const int> fallback_order(int node) const;

  // The machine node that memory of this node comes from: itself, unless emulated.
  int real_node(int node) const;

  // A CPU that is on no known node, or a negative one, is on the lowest node.
  int node_of_cpu(int cpu) const {
    return static_cast<std::size_t>(cpu) < cpu_nodes_.size()
               ? cpu_nodes_[static_cast<std::size_t>(cpu)]
               : nodes_.front().id;
  }

  // The node of the first CPU that the lcore may run on, or, by_lcore(), the node it is mapped to.
  // LCORE_ID_ANY and unknown lcores: the lowest node.
  int node_of_lcore(unsigned lcore) const;

  // The node an lcore is mapped to when by_lcore(); otherwise the lowest node.
  int mapped_node(unsigned lcore) const {
    return lcore < kMaxLcores ? lcore_nodes_[lcore] : nodes_.front().id;
  }

  // Where the machine's free memory is to be looked up (node_memory.hpp); empty: machine-wide.
  const std::string& sysfs_root() const { return sysfs_root_; }

 private:
  struct Parts;
  explicit Topology(Parts parts);

  static constexpr std::size_t kNoIndex = ~std::size_t{0};
  std::size_t index_of(int id) const {
    return static_cast<unsigned>(id) < kMaxNodes ? index_[static_cast<unsigned>(id)] : kNoIndex;
  }
  std::size_t resolve(int node) const;  // to an index in nodes_; kAnyNode and unknown ids included

  bool emulated_ = false;
  bool by_lcore_ = false;
  std::string sysfs_root_;
  std::vector<Node> nodes_;
  std::vector<int> ignored_;
  std::array<std::size_t, kMaxNodes> index_{};  // of a node id in nodes_
  std::vector<std::vector<int>> distances_;     // by index in nodes_, both
  std::vector<int> real_nodes_;                 // by index in nodes_
  std::vector<std::vector<int>> fallback_;      // by index in nodes_
  std::vector<int> cpu_nodes_;                  // by CPU id
  std::array<int, kMaxLcores> lcore_nodes_{};
  std::size_t lowest_with_memory_ = 0;  // index in nodes_
};

}  // namespace nearpool::numa
