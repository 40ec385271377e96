// SPDX-License-Identifier: BSD-3-Clause
// What a machine node has free right now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numa/topology.hpp"

namespace nearpool::numa {

// Hugepages of each size on a machine node, ascending by size. A tree without that node stands for
// a machine without NUMA: then the counts are the machine's.
std::vector<HugepageCount> read_hugepages(const std::string& sysfs_root, int node);

// Ordinary memory that the node can give without swapping, in bytes: free, and what the kernel
// holds in clean file pages and reclaimable slabs. An estimate. nullopt: the kernel does not say.
std::optional<std::uint64_t> read_available_bytes(const std::string& sysfs_root, int node);

// What the memory cgroups of this process leave of ordinary memory, in bytes; beyond it the kernel
// kills instead of refusing. Version 2 of cgroups only. nullopt: no limit.
std::optional<std::uint64_t> read_cgroup_available(
    const std::string& own_cgroup_file = "/proc/self/cgroup",
    const std::string& cgroup_root = "/sys/fs/cgroup");

}  // namespace nearpool::numa
