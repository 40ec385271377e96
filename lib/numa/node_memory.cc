// SPDX-License-Identifier: BSD-3-Clause
#include "numa/node_memory.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "numa/sysfs.hpp"

namespace nearpool::numa {
namespace {

constexpr const char* kMachineHugepages = "/sys/kernel/mm/hugepages";

bool without_nodes(const std::string& sysfs_root) {
  return numbered_entries(sysfs_root, "node").empty();
}

std::vector<HugepageCount> read_sizes(const std::string& folder) {
  std::vector<HugepageCount> sizes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    // hugepages-2048kB
    const std::string name = entry->path().filename().string();
    constexpr std::string_view kPrefix = "hugepages-";
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    std::size_t kilobytes = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), kilobytes);
    if (kilobytes == 0) continue;
    const std::string path = entry->path().string();
    HugepageCount size;
    size.page_bytes = kilobytes * 1024;
    size.total = parse_count(read_file(path + "/nr_hugepages")).value_or(0);
    size.free = parse_count(read_file(path + "/free_hugepages")).value_or(0);
    // Only the machine's counts say how many of the free pages are promised to others.
    size.free -= std::min(size.free, parse_count(read_file(path + "/resv_hugepages")).value_or(0));
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end(), [](const HugepageCount& a, const HugepageCount& b) {
    return a.page_bytes < b.page_bytes;
  });
  return sizes;
}

}  // namespace

std::vector<HugepageCount> read_hugepages(const std::string& sysfs_root, int node) {
  if (without_nodes(sysfs_root)) return read_sizes(kMachineHugepages);
  return read_sizes(node_path(sysfs_root, node) + "/hugepages");
}

std::optional<std::uint64_t> read_available_bytes(const std::string& sysfs_root, int node) {
  if (without_nodes(sysfs_root)) return meminfo_bytes(read_file("/proc/meminfo"), "MemAvailable");

  const std::string meminfo = read_file(node_path(sysfs_root, node) + "/meminfo");
  const auto free = meminfo_bytes(meminfo, "MemFree");
  if (!free) return std::nullopt;
  std::uint64_t bytes = *free;
  for (const char* reclaimable : {"Active(file)", "Inactive(file)", "SReclaimable"}) {
    bytes += meminfo_bytes(meminfo, reclaimable).value_or(0);
  }
  // The kernel keeps some back for itself (its watermarks); taking that would wake the OOM killer.
  const std::uint64_t kept_back = meminfo_bytes(meminfo, "MemTotal").value_or(0) / 64;
  return bytes - std::min(bytes, kept_back);
}

}  // namespace nearpool::numa
