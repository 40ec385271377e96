// SPDX-License-Identifier: BSD-3-Clause
// Placement: bind to the node, bring the pages in, look where they are.
#include <fcntl.h>
#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "page_arena/arena_memory_hooks.hpp"
#include "page_arena/arena_memory_state.hpp"
#include "page_arena/log.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace nearpool {
namespace {

constexpr int kUnknownNode = -1;
constexpr std::size_t kBatch = 512;  // pages per move_pages() call

// Whether all memory comes from one machine node. Then it does not matter that the kernel has no
// NUMA calls, or that a container's filter forbids them.
bool one_memory_node(const numa::Topology& topology) {
  std::set<int> real_nodes;
  for (const numa::Node& node : topology.nodes()) {
    if (node.has_memory()) real_nodes.insert(topology.real_node(node.id));
  }
  return real_nodes.size() == 1;
}

bool no_numa_calls(int error_number) {
  return error_number == ENOSYS || error_number == EPERM;
}

// As the NUMA calls want a set of nodes: bits, and how many of them.
struct NodeMask {
  static constexpr unsigned kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 2> words = {};

  NodeMask() = default;
  explicit NodeMask(int node) {
    const auto bit = static_cast<unsigned>(node);
    words[bit / kBits] = 1UL << (bit % kBits);
  }
  unsigned long* data() { return words.data(); }
  unsigned long bits() const { return kBits * words.size(); }
};

int policy_mode(bool strict) {
  return strict ? MPOL_BIND : MPOL_PREFERRED;
}

bool bind_range(const NodeRange& range, int real_node, bool strict) {
  NodeMask mask(real_node);
  return mbind(range.lo, static_cast<unsigned long>(range.hi - range.lo), policy_mode(strict),
               mask.data(), mask.bits(), strict ? MPOL_MF_STRICT : 0) == 0;
}

// While it lives, what this thread makes the kernel allocate comes from one node. Where the kernel
// forbids that, nothing changes, and verify() sees what came of it.
class ThreadPolicy {
 public:
  ThreadPolicy(int real_node, bool strict) {
    NodeMask mask(real_node);
    changed_ = get_mempolicy(&mode_, before_.data(), before_.bits(), nullptr, 0) == 0 &&
               set_mempolicy(policy_mode(strict), mask.data(), mask.bits()) == 0;
  }
  ThreadPolicy(const ThreadPolicy&) = delete;
  ThreadPolicy& operator=(const ThreadPolicy&) = delete;
  ~ThreadPolicy() {
    const int error_number = errno;
    if (changed_) set_mempolicy(mode_, before_.data(), before_.bits());
    errno = error_number;
  }

 private:
  int mode_ = MPOL_DEFAULT;
  NodeMask before_;
  bool changed_ = false;
};

// For kernels before 5.14: allocate in the file, which may fail but never kills; then a touch finds
// each page and only enters it in the page table. Allocation in a file of hugepages does not know
// what mbind() said of a mapping, only what this thread's policy is.
bool populate_by_file(const NodeRange& range, const PlannedRange& planned, int fd, off_t offset,
                      std::size_t page_bytes, bool strict) {
  const ThreadPolicy policy(planned.real_node, strict);
  int result = 0;
  do {
    result = fallocate(fd, 0, offset, static_cast<off_t>(planned.bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0) return false;
  for (std::byte* page = range.lo; page < range.hi; page += page_bytes) {
    *static_cast<volatile std::byte*>(page) = std::byte{0};
  }
  return true;
}

// Node of a page by a call of its own, for kernels whose move_pages() does not know hugepages.
int ask_policy(void* page) {
  int node = kUnknownNode;
  return get_mempolicy(&node, nullptr, 0, page, MPOL_F_NODE | MPOL_F_ADDR) == 0 ? node
                                                                                : kUnknownNode;
}

using PagesPerNode = std::map<int, std::size_t>;

// Counts the pages of a range by the machine node they lie on. false: errno says why not.
bool locate(const NodeRange& range, std::size_t page_bytes, PagesPerNode& found) {
  std::array<void*, kBatch> pages;
  std::array<int, kBatch> nodes;
  std::size_t seen = 0;
  for (std::byte* page = range.lo; page < range.hi;) {
    std::size_t count = 0;
    for (; count < kBatch && page < range.hi; page += page_bytes)
      pages[count++] = page;
    if (move_pages(0, count, pages.data(), nullptr, nodes.data(), 0) != 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
      int node = nodes[i] >= 0 ? nodes[i] : ask_policy(pages[i]);
      if (seen++ < memory_hooks().misplaced_pages) node = memory_hooks().misplaced_node;
      ++found[node];
    }
  }
  return true;
}

std::string found_text(const PagesPerNode& found, int expected) {
  std::string text;
  for (const auto& [node, pages] : found) {
    if (node == expected) continue;
    if (!text.empty()) text += ", ";
    text += node == kUnknownNode ? fmt::format("{} of them on no node the kernel would name", pages)
                                 : fmt::format("{} of them on node {}", pages, node);
  }
  return text;
}

}  // namespace

Result<void> ArenaMemory::State::bind(const numa::Topology& topology, bool strict) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const int error_number = take_step(
        MemoryStep::kBind, [&] { return bind_range(ranges[i], plan.ranges[i].real_node, strict); });
    if (error_number == 0) continue;
    const std::string what =
        fmt::format("could not bind memory to {}", node_text(plan.ranges[i], topology));
    if (!no_numa_calls(error_number)) {
      return system_failure(name, error_number, what,
                            "check that the cpuset of the process or container has that node");
    }
    if (one_memory_node(topology)) return {};
    const char* todo = "in a container allow the call mbind (CAP_SYS_NICE)";
    if (strict) return system_failure(name, error_number, what, todo);
    NEARPOOL_LOG(WARNING, "arena '%s' %s: pages lie where the kernel puts them; %s", name.c_str(),
                 what.c_str(), todo);
    return {};
  }
  return {};
}

Result<void> ArenaMemory::State::populate(const numa::Topology& topology, bool strict) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const NodeRange& range = ranges[i];
    // Brings every page in, without SIGBUS when there are too few.
    const int error_number = take_step(MemoryStep::kPopulate, [&] {
      if (!memory_hooks().without_populate) {
        if (madvise(range.lo, plan.ranges[i].bytes, MADV_POPULATE_WRITE) == 0) return true;
        if (errno != EINVAL) return false;
      }
      return populate_by_file(range, plan.ranges[i], fd, range.lo - base, plan.page_bytes, strict);
    });
    if (error_number == 0) continue;
    // EFAULT stands for "a touch would have been SIGBUS": no page to be had, as ENOSPC and ENOMEM.
    const bool short_of_memory =
        error_number == EFAULT || error_number == ENOSPC || error_number == ENOMEM;
    const PlannedRange& planned = plan.ranges[i];
    const std::size_t free = free_pages(plan, topology, planned.real_node);
    return system_failure(
        name, short_of_memory ? ENOMEM : error_number,
        fmt::format("wanted {} on {}, and the kernel ran out of pages while it brought them in",
                    size_text(planned.bytes), node_text(planned, topology)),
        fmt::format("{} pages of {} are free there now, so something else took pages meanwhile, "
                    "or a cgroup limits them; ask for less, or raise the limit",
                    free, size_text(plan.page_bytes)));
  }
  return {};
}

Result<void> ArenaMemory::State::verify(const numa::Topology& topology, bool strict) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PlannedRange& planned = plan.ranges[i];
    PagesPerNode found;
    const int error_number =
        take_step(MemoryStep::kVerify, [&] { return locate(ranges[i], plan.page_bytes, found); });
    if (error_number != 0) {
      if (no_numa_calls(error_number) && one_memory_node(topology)) return {};
      const char* todo = "in a container allow the call move_pages (CAP_SYS_NICE)";
      if (strict) {
        return system_failure(name, error_number, "could not see on which node its pages lie",
                              todo);
      }
      NEARPOOL_LOG(WARNING, "arena '%s' could not see on which node its pages lie: %s",
                   name.c_str(), todo);
      return {};
    }
    const std::size_t pages = planned.bytes / plan.page_bytes;
    misplaced[i] = pages - found[planned.real_node];
    if (misplaced[i] == 0) continue;
    const std::string sentence =
        fmt::format("arena '{}': {} of {} pages ({} each) for {} lie elsewhere, {}", name,
                    misplaced[i], pages, size_text(plan.page_bytes), node_text(planned, topology),
                    found_text(found, planned.real_node));
    if (strict) {
      return fail(-EXDEV, sentence +
                              ": reserve more on that node, or allow pages of other nodes "
                              "(lenient)");
    }
    NEARPOOL_LOG(WARNING, "%s", sentence.c_str());
  }
  return {};
}

}  // namespace nearpool
