// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/checks.hpp"

namespace nearpool::doctor {
namespace {

const std::string kCpus = "/sys/devices/system/cpu/";

std::vector<int> missing_from(const std::vector<int>& wanted, const std::vector<int>& there) {
  std::vector<int> missing;
  std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                      std::back_inserter(missing));
  return missing;
}

}  // namespace

Findings check_device_nodes(const Visit& visit) {
  const std::string topic = "NIC's node";
  const auto nodes = visit.machine.nodes();
  Findings findings;
  for (const Device& device : visit.devices) {
    if (!visit.machine.exists("/sys/bus/pci/devices/" + device.address)) {
      findings.push_back({Health::kStops, topic,
                          fmt::format("{}: there is no such device", device.address),
                          "lspci -D -d ::0200 lists the NICs with their addresses"});
      continue;
    }
    const int node = visit.node_of(device);
    if (node < 0) {
      findings.push_back(
          {nodes.size() > 1 ? Health::kSlow : Health::kGood, topic,
           fmt::format("{}: the firmware does not say", device.address),
           nodes.size() > 1
               ? "look in the machine's manual, and give -- --port-numa-config=PORT:NODE"
               : ""});
      continue;
    }
    std::vector<int> near;
    for (const int cpu : visit.cpus)
      if (visit.machine.node_of_cpu(cpu) == node) near.push_back(cpu);
    Finding finding{Health::kGood, topic,
                    fmt::format("{} is on node {}; {} of {} forwarding CPUs are", device.address,
                                node, near.size(), visit.cpus.size()),
                    ""};
    if (near.size() < visit.cpus.size() || near.empty()) {
      const auto there = nodes.find(node);
      finding.health = Health::kSlow;
      finding.advice = fmt::format(
          "poll its queues on node {}, CPUs {}: pools follow the lcore, but each frame then "
          "crosses "
          "to the other node",
          node, there == nodes.end() || there->second.empty() ? "none" : ranges_of(there->second));
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings check_isolated_cpus(const Visit& visit) {
  const std::string topic = "isolated CPUs";
  if (visit.cpus.empty()) {
    return {{Health::kStops, topic, "no lcore is left to forward",
             "give at least two, the first one controls: -l 0,1"}};
  }
  const auto isolated = numbers_of(visit.machine.read(kCpus + "isolated"));
  const auto shared = missing_from(visit.cpus, isolated);
  if (shared.empty()) {
    return {{Health::kGood, topic, fmt::format("{} are isolated", ranges_of(visit.cpus)), ""}};
  }
  const std::string list = ranges_of(visit.cpus);
  return {
      {Health::kSlow, topic,
       fmt::format("{} of the forwarding CPUs {} run other tasks too", ranges_of(shared), list),
       fmt::format("kernel arguments isolcpus={0} nohz_full={0} rcu_nocbs={0}: a poll loop that is "
                   "interrupted drops frames once its RX ring is full",
                   list)}};
}

Findings check_governor(const Visit& visit) {
  const std::string topic = "CPU governor";
  std::set<std::string> slow;
  std::vector<int> cpus;
  bool seen = false;
  for (const int cpu : visit.cpus) {
    const auto governor =
        visit.machine.word(fmt::format("{}cpu{}/cpufreq/scaling_governor", kCpus, cpu));
    if (!governor) continue;
    seen = true;
    if (*governor == "performance") continue;
    slow.insert(*governor);
    cpus.push_back(cpu);
  }
  if (!seen) return {{Health::kUnknown, topic, "the kernel does not set the CPUs' frequency", ""}};
  if (cpus.empty()) return {{Health::kGood, topic, "performance", ""}};
  std::string names;
  for (const std::string& name : slow)
    names += (names.empty() ? "" : ", ") + name;
  return {{Health::kSlow, topic, fmt::format("{} on CPUs {}", names, ranges_of(cpus)),
           fmt::format("cpupower -c {} frequency-set -g performance", ranges_of(cpus))}};
}

}  // namespace nearpool::doctor
