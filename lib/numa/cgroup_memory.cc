// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string_view>

#include "numa/node_memory.hpp"
#include "numa/sysfs.hpp"

namespace nearpool::numa {
namespace {

// Path of the process below the root of the version 2 hierarchy, "" for the root itself; nullopt:
// there is no such hierarchy.
std::optional<std::string> own_path(const std::string& own_cgroup_file) {
  const std::string text = read_file(own_cgroup_file);
  constexpr std::string_view kVersion2 = "0::";
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    if (line.substr(0, kVersion2.size()) == kVersion2) {
      const std::string_view path = line.substr(kVersion2.size());
      return std::string(path == "/" ? std::string_view() : path);
    }
  }
  return std::nullopt;
}

// Value of a line "NAME 123" of memory.stat.
std::uint64_t stat_bytes(std::string_view stat, std::string_view name) {
  for (std::size_t start = 0; start < stat.size();) {
    const std::size_t end = std::min(stat.find('\n', start), stat.size());
    const std::string_view line = stat.substr(start, end - start);
    start = end + 1;
    const std::size_t blank = std::min(line.find(' '), line.size());
    if (line.substr(0, blank) == name) return parse_count(line.substr(blank)).value_or(0);
  }
  return 0;
}

// nullopt: this cgroup has no limit of its own.
std::optional<std::uint64_t> left_in(const std::string& folder) {
  const auto limit = parse_count(read_file(folder + "/memory.max"));  // or "max"
  if (!limit) return std::nullopt;
  std::uint64_t used = parse_count(read_file(folder + "/memory.current")).value_or(0);
  const std::string stat = read_file(folder + "/memory.stat");
  for (const char* reclaimable : {"active_file", "inactive_file", "slab_reclaimable"}) {
    used -= std::min(used, stat_bytes(stat, reclaimable));
  }
  return *limit - std::min(*limit, used);
}

}  // namespace

std::optional<std::uint64_t> read_cgroup_available(const std::string& own_cgroup_file,
                                                   const std::string& cgroup_root) {
  const std::optional<std::string> own = own_path(own_cgroup_file);
  if (!own) return std::nullopt;
  std::optional<std::uint64_t> least;
  // Each cgroup on the way up may set a limit of its own.
  for (std::string_view path = *own;;) {
    const auto left = left_in(cgroup_root + std::string(path));
    if (left && (!least || *left < *least)) least = left;
    if (path.empty()) break;
    const std::size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return least;
}

}  // namespace nearpool::numa
