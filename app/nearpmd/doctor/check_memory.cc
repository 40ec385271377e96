// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/checks.hpp"

namespace nearpool::doctor {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr int kCapIpcLock = 14;
// What the EAL and the drivers take for themselves.
constexpr uint64_t kEalPagesKib = 64 * 1024;

std::string size_name(uint64_t kib) {
  if (kib >= 1U << 20) return fmt::format("{} GiB", kib >> 20);
  return kib >= 1024 ? fmt::format("{} MiB", kib / 1024) : fmt::format("{} KiB", kib);
}

struct Hugepages {
  uint64_t bytes_free = 0;
  std::string text;      // "512 of 1024 of 2 MiB"
  std::string smallest;  // folder of the smallest size
  uint64_t smallest_kib = 0;
  long smallest_total = 0;
};

// Below a folder with hugepages-NkB entries.
Hugepages hugepages_in(const Machine& machine, const std::string& folder) {
  Hugepages found;
  constexpr std::string_view kPrefix = "hugepages-";
  for (const std::string& name : machine.entries(folder)) {
    if (!name.starts_with(kPrefix)) continue;
    const auto kib = numbers_of(name.substr(kPrefix.size(), name.size() - kPrefix.size() - 2));
    const uint64_t size = kib.empty() ? std::strtoull(name.c_str() + kPrefix.size(), nullptr, 10)
                                      : static_cast<uint64_t>(kib.front());
    const std::string at = folder + "/" + name;
    const long total = machine.number(at + "/nr_hugepages").value_or(0);
    const long left = machine.number(at + "/free_hugepages").value_or(0);
    if (size == 0) continue;
    if (found.smallest_kib == 0 || size < found.smallest_kib) {
      found.smallest = at;
      found.smallest_kib = size;
      found.smallest_total = total;
    }
    if (total == 0) continue;
    found.bytes_free += static_cast<uint64_t>(left) * size * 1024;
    found.text += fmt::format("{}{} of {} of {}", found.text.empty() ? "" : ", ", left, total,
                              size_name(size));
  }
  return found;
}

// Of a node; in one place where the kernel is one without NUMA.
std::string folder_of_node(const Machine& machine, int node) {
  const std::string folder = fmt::format("/sys/devices/system/node/node{}/hugepages", node);
  return machine.exists(folder) ? folder : "/sys/kernel/mm/hugepages";
}

bool may_lock_all(const Machine& machine) {
  const uint64_t mask = std::strtoull(machine.own_status("CapEff").c_str(), nullptr, 16);
  return (mask >> kCapIpcLock & 1) != 0;
}

}  // namespace

Findings check_hugepages(const Visit& visit) {
  const std::string topic = "hugepages";
  Findings findings;
  if (visit.no_huge) {
    return {{Health::kSlow, topic, "--no-huge: ordinary pages",
             "leave --no-huge out on a machine that has hugepages: they save TLB misses, and NICs "
             "behind vfio want physically contiguous memory"}};
  }
  for (const int node : visit.nodes_in_use()) {
    const Hugepages pages = hugepages_in(visit.machine, folder_of_node(visit.machine, node));
    Finding finding{Health::kGood, topic,
                    fmt::format("node {}: {} free, {} MiB are wanted", node,
                                pages.text.empty() ? "none" : pages.text,
                                (visit.bytes_wanted + kMebibyte - 1) / kMebibyte),
                    ""};
    if (pages.smallest.empty()) {
      finding.health = Health::kStops;
      finding.advice = "the kernel has no hugepages: run with --no-huge -m 512, slower";
    } else if (pages.bytes_free < visit.bytes_wanted) {
      const uint64_t lacking = visit.bytes_wanted - pages.bytes_free;
      const uint64_t more = (lacking + pages.smallest_kib * 1024 - 1) / (pages.smallest_kib * 1024);
      finding.health = Health::kStops;
      finding.advice = fmt::format("echo {} >{}/nr_hugepages",
                                   pages.smallest_total + static_cast<long>(more), pages.smallest);
    }
    findings.push_back(std::move(finding));
  }
  if (!visit.in_memory &&
      visit.machine.read("/proc/mounts").find(" hugetlbfs ") == std::string::npos) {
    findings.push_back({Health::kStops, topic, "no hugetlbfs is mounted",
                        "give --in-memory, or mount one: mount -t hugetlbfs nodev /dev/hugepages"});
  }
  return findings;
}

// What the main lcore allocates the EAL looks for on the main lcore's node alone: ports without a
// node of their own, for instance. Its node needs no page of the arena, so nobody else asks there.
Findings check_main_lcore(const Visit& visit) {
  const std::string topic = "main lcore";
  std::set<int> nodes;
  for (const int cpu : visit.main_cpus)
    nodes.insert(visit.machine.node_of_cpu(cpu));
  // Where its CPUs are on several nodes, the EAL takes what there is.
  if (visit.no_huge || nodes.size() != 1) return {};
  const int own = *nodes.begin();
  const Hugepages here = hugepages_in(visit.machine, folder_of_node(visit.machine, own));
  std::vector<int> elsewhere;  // CPUs
  bool others_have = false;
  for (const auto& [node, cpus] : visit.machine.nodes()) {
    if (hugepages_in(visit.machine, folder_of_node(visit.machine, node)).bytes_free == 0) continue;
    others_have = true;
    elsewhere.insert(elsewhere.end(), cpus.begin(), cpus.end());
  }
  // None at all is another finding.
  if (here.bytes_free != 0 || !others_have || here.smallest.empty()) {
    return {{Health::kGood, topic, fmt::format("on node {}, as what it allocates", own), ""}};
  }
  std::sort(elsewhere.begin(), elsewhere.end());
  const uint64_t few = (kEalPagesKib + here.smallest_kib - 1) / here.smallest_kib;
  std::string advice = fmt::format("echo {} >{}/nr_hugepages",
                                   here.smallest_total + static_cast<long>(few), here.smallest);
  if (!elsewhere.empty()) {
    advice +=
        fmt::format(", or let the main lcore run on one of the CPUs {}", ranges_of(elsewhere));
  }
  return {{Health::kStops, topic,
           fmt::format("on node {}, which has no free hugepage, while others have", own), advice}};
}

Findings check_memlock(const Visit& visit) {
  const std::string topic = "memlock";
  const bool locks = std::any_of(visit.devices.begin(), visit.devices.end(), [&](const Device& d) {
    const std::string driver = visit.driver_of(d);
    return driver == "mlx5_core" || driver == "vfio-pci";
  });
  if (!locks) return {{Health::kGood, topic, "no device locks memory here", ""}};
  if (may_lock_all(visit.machine)) {
    return {{Health::kGood, topic, "this user may lock any amount (CAP_IPC_LOCK)", ""}};
  }
  const std::string limits = visit.machine.read("/proc/self/limits");
  constexpr std::string_view kName = "Max locked memory";
  const size_t at = limits.find(kName);
  if (at == std::string::npos) {
    return {{Health::kUnknown, topic, "the limit cannot be read", "look at ulimit -l"}};
  }
  const size_t from = limits.find_first_not_of(' ', at + kName.size());
  const std::string soft = limits.substr(from, limits.find_first_of(" \n", from) - from);
  if (soft == "unlimited") return {{Health::kGood, topic, "unlimited", ""}};
  const uint64_t bytes = std::strtoull(soft.c_str(), nullptr, 10);
  const uint64_t wanted = visit.bytes_wanted * visit.nodes_in_use().size();
  Finding finding{
      Health::kGood, topic,
      fmt::format("{} KiB may be locked, {} KiB are wanted", bytes / 1024, wanted / 1024), ""};
  if (bytes < wanted) {
    finding.health = Health::kStops;
    finding.advice =
        "raise it: ulimit -l unlimited, LimitMEMLOCK=infinity in a unit, or memlock in "
        "/etc/security/limits.conf; the device cannot register the pages of the pools otherwise";
  }
  return {finding};
}

Findings check_numa_balancing(const Visit& visit) {
  const std::string topic = "NUMA balancing";
  const auto on = visit.machine.number("/proc/sys/kernel/numa_balancing");
  if (!on) return {{Health::kGood, topic, "the kernel has none", ""}};
  if (*on == 0) return {{Health::kGood, topic, "off", ""}};
  if (visit.machine.nodes().size() < 2)
    return {{Health::kGood, topic, "on, with one node only", ""}};
  return {{Health::kSlow, topic, "on: the kernel takes mappings away to see who uses a page",
           "sysctl -w kernel.numa_balancing=0"}};
}

}  // namespace nearpool::doctor
