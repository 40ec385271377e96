// SPDX-License-Identifier: BSD-3-Clause
#include "page_arena/memory_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "numa/node_memory.hpp"

namespace nearpool {
namespace {

constexpr std::size_t kKilobyte = 1024;
constexpr std::size_t kMegabyte = 1024 * kKilobyte;
constexpr std::size_t kGigabyte = 1024 * kMegabyte;
// User space has 47 bits of address on x86-64; what is above cannot be meant.
constexpr std::size_t kMostBytes = std::size_t{1} << 47;

// What one machine node is asked for and has. In ascending order of node ids.
struct Supply {
  std::size_t wanted = 0;
  std::size_t free = 0;
  std::vector<int> nodes;  // of the request
  std::size_t fits() const { return std::min(wanted, free); }
};
using Supplies = std::map<int, Supply>;

// "0, 8". (fmt::join() of fmt 9 draws a false warning from gcc 12.)
template <typename Items>
std::string list_text(const Items& items) {
  std::string text;
  for (const auto& item : items)
    text += (text.empty() ? "" : ", ") + fmt::format("{}", item);
  return text;
}

Result<void> check_request(const MemoryRequest& request, const numa::Topology& topology) {
  if (request.nodes.empty()) {
    return fail(-EINVAL,
                fmt::format("arena '{}' asks for no memory: name at least one node", request.name));
  }
  std::set<int> seen;
  for (const auto& [node, bytes] : request.nodes) {
    const numa::Node* known = topology.find(node);
    if (known == nullptr || !known->has_memory()) {
      const auto order = topology.fallback_order(node);
      const std::set<int> with_memory(order.begin(), order.end());
      return fail(-EINVAL,
                  fmt::format("arena '{}' asks for memory of node {}, which {}: nodes with "
                              "memory are {}",
                              request.name, node, known == nullptr ? "does not exist" : "has none",
                              list_text(with_memory)));
    }
    if (!seen.insert(node).second) {
      return fail(-EINVAL, fmt::format("arena '{}' asks for memory of node {} twice: name each "
                                       "node once",
                                       request.name, node));
    }
    if (bytes == 0) {
      return fail(-EINVAL, fmt::format("arena '{}' asks for 0 bytes of node {}: ask for at least "
                                       "one, or leave the node out",
                                       request.name, node));
    }
  }
  return {};
}

// nullopt: more than there are addresses.
std::optional<MemoryPlan> round_up(const MemoryRequest& request, const numa::Topology& topology,
                                   std::size_t page_bytes) {
  MemoryPlan plan;
  plan.page_bytes = page_bytes;
  plan.hugepages = request.hugepages;
  for (const auto& [node, bytes] : request.nodes) {
    if (bytes > kMostBytes) return std::nullopt;
    const std::size_t rounded = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    plan.ranges.push_back({node, topology.real_node(node), rounded});
    plan.bytes += rounded;
    if (plan.bytes > kMostBytes) return std::nullopt;
  }
  return plan;
}

// Machine nodes that the plan may take memory from: those of its ranges, or all of them if pages
// may lie elsewhere.
Supplies supplies_of(const MemoryPlan& plan, const numa::Topology& topology, bool strict) {
  Supplies supplies;
  for (const PlannedRange& range : plan.ranges) {
    Supply& supply = supplies[range.real_node];
    supply.wanted += range.bytes;
    supply.nodes.push_back(range.node);
  }
  if (!strict) {
    for (const numa::Node& node : topology.nodes()) {
      if (node.has_memory()) supplies[topology.real_node(node.id)];
    }
  }
  for (auto& [real_node, supply] : supplies) {
    const std::size_t pages = free_pages(plan, topology, real_node);
    supply.free = std::min(pages, std::numeric_limits<std::size_t>::max() / plan.page_bytes) *
                  plan.page_bytes;
  }
  return supplies;
}

// The most of the plan that could be had, in bytes.
std::size_t most_that_fits(const Supplies& supplies, bool strict) {
  std::size_t on_its_node = 0;
  std::size_t wanted = 0;
  std::size_t free = 0;
  for (const auto& [node, supply] : supplies) {
    on_its_node += supply.fits();
    wanted += supply.wanted;
    free = free + supply.free < free ? std::numeric_limits<std::size_t>::max() : free + supply.free;
  }
  return strict ? on_its_node : std::min(wanted, free);
}

std::string hugepage_file(const numa::Topology& topology, int real_node, std::size_t page_bytes) {
  const std::string& root = topology.sysfs_root();
  const std::string folder =
      root.empty() ? "/sys/kernel/mm" : fmt::format("{}/node{}", root, real_node);
  return fmt::format("{}/hugepages/hugepages-{}kB/nr_hugepages", folder, page_bytes / kKilobyte);
}

std::string what_to_do(const MemoryPlan& plan, const Supplies& supplies,
                       const numa::Topology& topology) {
  if (!plan.hugepages) return "free some memory, or ask for less";
  const auto missing = std::find_if(supplies.begin(), supplies.end(), [](const auto& entry) {
    return entry.second.wanted > entry.second.free;
  });
  const std::size_t pages = (missing->second.wanted - missing->second.free) / plan.page_bytes;
  return fmt::format("reserve {} more in {}, ask for less, or use ordinary pages (--no-huge)",
                     pages, hugepage_file(topology, missing->first, plan.page_bytes));
}

std::string supply_text(int real_node, const Supply& supply, const numa::Topology& topology) {
  std::string who = fmt::format("node {}", real_node);
  if (topology.emulated() && !supply.nodes.empty()) {
    who = fmt::format("machine node {} (for emulated node{} {})", real_node,
                      supply.nodes.size() > 1 ? "s" : "", list_text(supply.nodes));
  }
  return fmt::format("{} has {} free of {} wanted", who, size_text(supply.free),
                     size_text(supply.wanted));
}

Error does_not_fit(const MemoryRequest& request, const MemoryPlan& plan, const Supplies& supplies,
                   const numa::Topology& topology) {
  std::vector<std::string> nodes;
  for (const auto& [real_node, supply] : supplies) {
    nodes.push_back(supply_text(real_node, supply, topology));
  }
  return Error{
      -ENOMEM,
      fmt::format("arena '{}' wants {} of {}, and does not fit: {}; the largest that fits "
                  "is {}: {}",
                  request.name, size_text(plan.bytes),
                  plan.hugepages ? fmt::format("hugepages of {}", size_text(plan.page_bytes))
                                 : "ordinary memory",
                  list_text(nodes), size_text(most_that_fits(supplies, request.strict)),
                  what_to_do(plan, supplies, topology))};
}

// Page sizes to try, the best first.
std::vector<std::size_t> page_sizes(const MemoryRequest& request, const numa::Topology& topology) {
  if (!request.hugepages) return {static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
  std::set<std::size_t> sizes;
  for (const NodeBytes& entry : request.nodes) {
    const int real_node = topology.real_node(entry.node);
    for (const auto& count : numa::read_hugepages(topology.sysfs_root(), real_node)) {
      sizes.insert(count.page_bytes);
    }
  }
  // Where the kernel shows no hugepages at all, the refusal is to speak of the usual size.
  if (sizes.empty()) sizes.insert(2 * kMegabyte);
  return {sizes.begin(), sizes.end()};
}

}  // namespace

std::string size_text(std::size_t bytes) {
  if (bytes % kGigabyte == 0 && bytes != 0) return fmt::format("{} GiB", bytes / kGigabyte);
  if (bytes % kMegabyte == 0 || bytes >= 16 * kMegabyte) {
    return fmt::format("{} MiB", bytes / kMegabyte);
  }
  if (bytes % kKilobyte == 0) return fmt::format("{} KiB", bytes / kKilobyte);
  return fmt::format("{} B", bytes);
}

std::string node_text(const PlannedRange& range, const numa::Topology& topology) {
  if (!topology.emulated()) return fmt::format("node {}", range.node);
  return fmt::format("node {} (emulated, memory of machine node {})", range.node, range.real_node);
}

std::size_t free_pages(const MemoryPlan& plan, const numa::Topology& topology, int real_node) {
  if (!plan.hugepages) {
    const auto bytes = numa::read_available_bytes(topology.sysfs_root(), real_node);
    // Not known: then it is the kernel that refuses, when the memory is populated.
    return bytes ? *bytes / plan.page_bytes : std::numeric_limits<std::size_t>::max();
  }
  for (const auto& count : numa::read_hugepages(topology.sysfs_root(), real_node)) {
    if (count.page_bytes == plan.page_bytes) return count.free;
  }
  return 0;
}

Result<void> fits_cgroup(const MemoryPlan& plan, const std::string& name,
                         std::optional<std::uint64_t> available) {
  // Hugepages are charged to a controller of their own, which refuses instead of killing.
  if (plan.hugepages || !available || plan.bytes <= *available) return {};
  return fail(
      -ENOMEM,
      fmt::format("arena '{}' wants {} of ordinary memory, and the cgroup of the process or "
                  "container leaves {}: raise its memory limit, ask for less, or use "
                  "hugepages",
                  name, size_text(plan.bytes), size_text(*available)));
}

Result<MemoryPlan> plan_memory(const MemoryRequest& request, const numa::Topology& topology) {
  if (auto checked = check_request(request, topology); !checked) {
    return tl::unexpected(checked.error());
  }
  std::optional<Error> refusal;
  bool refusal_has_free = false;
  for (const std::size_t page_bytes : page_sizes(request, topology)) {
    const std::optional<MemoryPlan> plan = round_up(request, topology, page_bytes);
    if (!plan) {
      return fail(-ENOMEM, fmt::format("arena '{}' wants more memory than there are addresses for: "
                                       "ask for less than {} in all",
                                       request.name, size_text(kMostBytes)));
    }
    const Supplies supplies = supplies_of(*plan, topology, request.strict);
    if (most_that_fits(supplies, request.strict) == plan->bytes) return *plan;
    // The refusal speaks of the smallest size of which there is any.
    const bool has_free = std::any_of(supplies.begin(), supplies.end(),
                                      [](const auto& entry) { return entry.second.free != 0; });
    if (!refusal || (has_free && !refusal_has_free)) {
      refusal = does_not_fit(request, *plan, supplies, topology);
      refusal_has_free = has_free;
    }
  }
  return tl::unexpected(std::move(*refusal));
}

}  // namespace nearpool
