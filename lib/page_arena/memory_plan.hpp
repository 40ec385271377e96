// SPDX-License-Identifier: BSD-3-Clause
// Internal to ArenaMemory: what a request comes to, and whether it fits, before anything is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "error.hpp"
#include "numa/topology.hpp"
#include "page_arena/arena_memory.hpp"

namespace nearpool {

struct PlannedRange {
  int node = 0;           // as requested
  int real_node = 0;      // machine node the memory is to come from
  std::size_t bytes = 0;  // whole pages
};

struct MemoryPlan {
  std::size_t page_bytes = 0;
  bool hugepages = false;
  std::size_t bytes = 0;  // sum of the ranges
  std::vector<PlannedRange> ranges;
};

// -EINVAL: the request; -ENOMEM: it does not fit.
Result<MemoryPlan> plan_memory(const MemoryRequest& request, const numa::Topology& topology);

// -ENOMEM: the plan is for ordinary memory and above what the process's cgroups leave it.
Result<void> fits_cgroup(const MemoryPlan& plan, const std::string& name,
                         std::optional<std::uint64_t> available);

// Pages of the plan's size that a machine node has free now.
std::size_t free_pages(const MemoryPlan& plan, const numa::Topology& topology, int real_node);

// "2 MiB", "1 GiB", "12 KiB": in the largest unit that states it exactly, or rounded down to MiB
// above 16 MiB.
std::string size_text(std::size_t bytes);

// "node 3", or "node 3 (emulated, memory of machine node 0)".
std::string node_text(const PlannedRange& range, const numa::Topology& topology);

}  // namespace nearpool
