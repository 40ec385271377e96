// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/checks.hpp"

namespace nearpool::doctor {
namespace {

const std::string kPci = "/sys/bus/pci/devices/";
constexpr const char* kDrivers = "kernel driver";

// The devices that must be given to a program together with this one, and are not.
std::vector<std::string> held_back(const Visit& visit, const std::string& group) {
  std::vector<std::string> held;
  for (const std::string& address : visit.machine.entries(group + "/devices")) {
    const std::string driver = visit.driver_of({address, {}});
    if (!driver.empty() && driver != "vfio-pci" && driver != "pcieport" && driver != "pci-stub") {
      held.push_back(address + " (" + driver + ")");
    }
  }
  return held;
}

Finding check_vfio(const Visit& visit, const Device& device) {
  const std::string group = visit.machine.link_name(kPci + device.address + "/iommu_group");
  if (group.empty()) {
    const auto unsafe =
        visit.machine.word("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode").value_or("");
    if (unsafe == "Y" || unsafe == "1") {
      return {
          Health::kSlow, kDrivers, fmt::format("{}: vfio-pci without an IOMMU", device.address),
          "the device may write anywhere; turn the IOMMU on in the BIOS and with intel_iommu=on"};
    }
    return {Health::kStops, kDrivers,
            fmt::format("{}: vfio-pci, but no IOMMU stands before the device", device.address),
            "turn VT-d or AMD-Vi on in the BIOS, and give the kernel intel_iommu=on iommu=pt"};
  }
  const auto held = held_back(visit, "/sys/kernel/iommu_groups/" + group);
  if (!held.empty()) {
    std::string names;
    for (const std::string& name : held)
      names += (names.empty() ? "" : ", ") + name;
    return {Health::kStops, kDrivers,
            fmt::format("{}: IOMMU group {} also has {}", device.address, group, names),
            "bind these to vfio-pci as well, or move the NIC to another slot"};
  }
  if (!visit.machine.exists("/dev/vfio/" + group)) {
    return {Health::kStops, kDrivers,
            fmt::format("{}: there is no /dev/vfio/{}", device.address, group),
            "modprobe vfio-pci"};
  }
  return {Health::kGood, kDrivers,
          fmt::format("{}: vfio-pci, alone in IOMMU group {}", device.address, group), ""};
}

}  // namespace

Findings check_kernel_drivers(const Visit& visit) {
  Findings findings;
  for (const Device& device : visit.devices) {
    if (!visit.machine.exists(kPci + device.address)) continue;  // said already
    const std::string driver = visit.driver_of(device);
    const std::string bind = fmt::format("dpdk-devbind.py -b vfio-pci {}", device.address);
    if (driver == "vfio-pci") {
      findings.push_back(check_vfio(visit, device));
    } else if (driver == "mlx5_core") {
      findings.push_back(
          {Health::kGood, kDrivers,
           fmt::format("{}: mlx5_core, beside which DPDK's driver works", device.address), ""});
    } else if (driver.find("uio") != std::string::npos) {
      findings.push_back(
          {Health::kSlow, kDrivers,
           fmt::format("{}: {}, with which the device may write anywhere", device.address, driver),
           bind + " (needs an IOMMU)"});
    } else {
      findings.push_back(
          {Health::kStops, kDrivers,
           driver.empty() ? fmt::format("{}: no kernel driver has it", device.address)
                          : fmt::format("{}: the kernel's {} has it", device.address, driver),
           bind + (driver.empty() ? "; a ConnectX needs mlx5_core: modprobe mlx5_core" : "")});
    }
  }
  return findings;
}

Findings check_iommu_mode(const Visit& visit) {
  const std::string topic = "IOMMU";
  if (visit.machine.entries("/sys/kernel/iommu_groups").empty()) {
    return {{Health::kGood, topic, "off: nothing is translated", ""}};
  }
  const bool mlx5 =
      std::any_of(visit.devices.begin(), visit.devices.end(),
                  [&](const Device& device) { return visit.driver_of(device) == "mlx5_core"; });
  const std::string line = fmt::format(" {} ", visit.machine.read("/proc/cmdline"));
  if (!mlx5 || line.find("iommu=pt") != std::string::npos ||
      line.find("iommu.passthrough=1") != std::string::npos) {
    return {{Health::kGood, topic, "on, and in nobody's way", ""}};
  }
  return {{Health::kSlow, topic, "on, and it translates what mlx5 devices read and write",
           "kernel argument iommu=pt"}};
}

Findings check_pause_frames(const Visit& visit) {
  const std::string topic = "pause frames";
  Findings findings;
  for (const Device& device : visit.devices) {
    if (!visit.machine.exists(kPci + device.address)) continue;
    const auto interfaces = visit.machine.entries(kPci + device.address + "/net");
    const auto pause = interfaces.empty() || !visit.ask_pause_frames
                           ? std::nullopt
                           : visit.ask_pause_frames(interfaces.front());
    if (!pause) {
      findings.push_back({Health::kUnknown, topic,
                          fmt::format("{}: cannot be seen", device.address),
                          "at nearpmd's prompt: show port info all"});
    } else if (pause->receive || pause->transmit) {
      findings.push_back(
          {Health::kSlow, topic,
           fmt::format("{} ({}): receive {}, transmit {}", device.address, interfaces.front(),
                       pause->receive ? "on" : "off", pause->transmit ? "on" : "off"),
           fmt::format(
               "ethtool -A {} rx off tx off before rates are measured: with them a port without "
               "free buffers slows its sender down, and one slow receiver stops all of a switch",
               interfaces.front())});
    } else {
      findings.push_back({Health::kGood, topic,
                          fmt::format("{} ({}): off", device.address, interfaces.front()), ""});
    }
  }
  return findings;
}

Findings check_fast_free(const Visit& visit) {
  const std::string topic = "MBUF_FAST_FREE";
  std::set<int> nodes;
  for (const Device& device : visit.devices)
    nodes.insert(visit.node_of(device));
  if (nodes.size() < 2) return {{Health::kGood, topic, "nearpmd never asks for it", ""}};
  return {{Health::kSlow, topic,
           "nearpmd never asks for it, but the ports are on several nodes, so that another program "
           "that does would give pages back to the wrong pool",
           "start dpdk-testpmd with --tx-offloads=0; other programs likewise without it"}};
}

}  // namespace nearpool::doctor
