// SPDX-License-Identifier: BSD-3-Clause
// What the tests of arena memory share: topologies, what an arena may leave behind, and a fixture
// that runs each test with hugepages and with ordinary pages.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eal_main.hpp"
#include "numa/topology.hpp"
#include "page_arena/arena_memory.hpp"
#include "page_arena/arena_memory_testing.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEARPOOL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NEARPOOL_SANITIZED 1
#endif
#endif

namespace nearpool::test {

// The sanitizers keep addresses reserved and carve their own memory from them, at any time.
#ifdef NEARPOOL_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr std::size_t kHugepage = std::size_t{2} << 20;

inline const numa::Topology& machine() {
  static const numa::Topology topology = std::move(*numa::Topology::discover());
  return topology;
}

// Nodes 0 and 8; on a machine with one node both take their memory from it.
inline const numa::Topology& two_nodes() {
  static const numa::Topology topology =
      std::move(*numa::Topology::from_lcore_map("0:0,1:8", machine()));
  return topology;
}

inline int first_node() {
  return machine().memory_node(machine().nodes().front().id);
}

struct Mapping {
  std::uintptr_t lo;
  std::uintptr_t hi;
  std::string rights;
  std::string name;
};

inline std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Mapping mapping = {};
    char dash = 0;
    std::string offset, device, inode;
    words >> std::hex >> mapping.lo >> dash >> mapping.hi >> mapping.rights >> offset >> device >>
        inode;
    std::getline(words >> std::ws, mapping.name);
    all.push_back(std::move(mapping));
  }
  return all;
}

// Hugepages that this process has mapped; the machine's count is shared with other processes.
inline std::size_t own_hugepages() {
  std::ifstream file("/proc/self/status");
  for (std::string key; file >> key;) {
    std::size_t kilobytes = 0;
    if (key == "HugetlbPages:" && file >> kilobytes) return kilobytes * 1024 / kHugepage;
  }
  return 0;
}

// What an arena could leave behind: mappings of its file, addresses reserved for nobody,
// descriptors, hugepages.
struct Leftovers {
  std::size_t arena_mappings = 0;
  std::size_t reserved_bytes = 0;
  std::size_t descriptors = 0;
  std::size_t hugepages = 0;

  bool operator==(const Leftovers&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Leftovers& left) {
  return out << left.arena_mappings << " mappings, " << left.reserved_bytes << " bytes reserved, "
             << left.descriptors << " descriptors, " << left.hugepages << " hugepages";
}

inline Leftovers leftovers() {
  Leftovers left;
  for (const Mapping& mapping : mappings()) {
    left.arena_mappings += mapping.name.find("memfd:nearpool-") != std::string::npos;
    if (!kSanitized && mapping.rights == "---p" && mapping.name.empty()) {
      left.reserved_bytes += mapping.hi - mapping.lo;
    }
  }
  const std::filesystem::directory_iterator files("/proc/self/fd");
  left.descriptors = static_cast<std::size_t>(std::distance(begin(files), end(files)));
  left.hugepages = own_hugepages();
  return left;
}

// Each test is run with hugepages and with ordinary pages.
class Pages : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) NEARPOOL_NEED_HUGEPAGES(16U);
  }

  void TearDown() override {
    arena_memory_fail_at(MemoryStep::kNone);
    arena_memory_misplace(0, 0);
    arena_memory_without_populate(false);
  }

  bool hugepages() const { return GetParam(); }
  std::size_t page_bytes() const {
    return hugepages() ? kHugepage : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

  MemoryRequest request(std::vector<NodeBytes> nodes) const {
    return {.name = "unit", .nodes = std::move(nodes), .hugepages = hugepages(), .strict = true};
  }

  // Pages per node of two_nodes(), in the order 8, 0.
  MemoryRequest two_node_request() const {
    return request({{8, 2 * page_bytes()}, {0, 3 * page_bytes()}});
  }
};

inline ArenaMemory mapped(const MemoryRequest& request, const numa::Topology& topology) {
  Result<ArenaMemory> memory = ArenaMemory::map(request, topology);
  if (!memory) throw std::runtime_error(memory.error().message);
  return std::move(*memory);
}

inline std::string kind(const testing::TestParamInfo<bool>& info) {
  return info.param ? "Hugepages" : "Ordinary";
}

}  // namespace nearpool::test
