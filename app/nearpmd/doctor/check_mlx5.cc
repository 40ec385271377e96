// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doctor/checks.hpp"

namespace nearpool::doctor {
namespace {

const std::string kPci = "/sys/bus/pci/devices/";

// First part, second and third of a firmware's version.
using Version = std::array<int, 3>;

struct Family {
  const char* name;
  Version least;
};
// What DPDK 22.11 asks for. The first part of the version tells the family.
constexpr Family kFamilies[] = {
    {"ConnectX-4", {12, 21, 1000}},  {"ConnectX-4 Lx", {14, 21, 1000}},
    {"ConnectX-5", {16, 21, 1000}},  {"BlueField", {18, 25, 1010}},
    {"ConnectX-6", {20, 27, 90}},    {"ConnectX-6 Dx", {22, 27, 90}},
    {"BlueField-2", {24, 28, 1002}}, {"ConnectX-6 Lx", {26, 27, 90}},
    {"ConnectX-7", {28, 33, 2028}},
};
constexpr int kLeastRdmaCore = 16;
constexpr Version kLeastKernel{4, 14, 0};

// "12.28.2006", "6.1.0-35-amd64"; parts that are missing are 0.
Version version_of(const std::string& text) {
  Version version{};
  std::sscanf(text.c_str(), "%d.%d.%d", &version[0], &version[1], &version[2]);
  return version;
}

bool is_mlx5(const Visit& visit, const Device& device) {
  return visit.driver_of(device) == "mlx5_core";
}

// Of an option of the device, or what the driver takes if it is not given.
std::string argument(const Device& device, const char* name, const char* otherwise) {
  const auto found = device.arguments.find(name);
  return found == device.arguments.end() ? otherwise : found->second;
}

// libibverbs.so.1 leads to a file that is named after the release: libibverbs.so.1.14.44.0 is 44.
int rdma_core_release(const Machine& machine) {
  for (const char* place :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/lib"}) {
    const std::string name = machine.link_name(std::string(place) + "/libibverbs.so.1");
    int first = 0, second = 0, release = 0;
    if (std::sscanf(name.c_str(), "libibverbs.so.%d.%d.%d", &first, &second, &release) == 3) {
      return release;
    }
  }
  return -1;
}

Finding firmware_finding(const Visit& visit, const Device& device) {
  const std::string topic = "mlx5 firmware";
  const std::string folder = kPci + device.address + "/infiniband";
  const auto names = visit.machine.entries(folder);
  const auto text =
      names.empty() ? std::nullopt : visit.machine.word(folder + "/" + names.front() + "/fw_ver");
  if (!text) {
    return {Health::kStops, topic, fmt::format("{}: no RDMA device belongs to it", device.address),
            "modprobe mlx5_ib: DPDK's driver finds ports by their RDMA devices"};
  }
  const Version version = version_of(*text);
  const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                    [&](const Family& f) { return f.least[0] == version[0]; });
  if (family == std::end(kFamilies)) {
    return {Health::kUnknown, topic,
            fmt::format("{}: {}, of a family not known here", device.address, *text),
            "compare it with DPDK's guide of the mlx5 driver"};
  }
  const std::string least =
      fmt::format("{}.{}.{:04}", family->least[0], family->least[1], family->least[2]);
  Finding finding{
      Health::kGood, topic,
      fmt::format("{} ({}): {}, at least {}", device.address, family->name, *text, least), ""};
  if (version < family->least) {
    finding.health = Health::kStops;
    finding.advice = "bring the firmware up to date (mlxfwmanager)";
  }
  return finding;
}

}  // namespace

Findings check_firmware(const Visit& visit) {
  Findings findings;
  for (const Device& device : visit.devices) {
    if (is_mlx5(visit, device)) findings.push_back(firmware_finding(visit, device));
  }
  return findings;
}

Findings check_rdma_core(const Visit& visit) {
  if (std::none_of(visit.devices.begin(), visit.devices.end(),
                   [&](const Device& device) { return is_mlx5(visit, device); })) {
    return {};
  }
  Findings findings;
  const int release = rdma_core_release(visit.machine);
  if (release < 0) {
    findings.push_back({Health::kStops, "rdma-core", "libibverbs is not installed",
                        "apt-get install libibverbs1 ibverbs-providers"});
  } else {
    const bool old = release < kLeastRdmaCore;
    findings.push_back({old ? Health::kStops : Health::kGood, "rdma-core",
                        fmt::format("{}, at least {}", release, kLeastRdmaCore),
                        old ? "install a newer rdma-core" : ""});
  }
  const std::string kernel = visit.machine.word("/proc/sys/kernel/osrelease").value_or("");
  const bool old = version_of(kernel) < kLeastKernel;
  findings.push_back({kernel.empty() ? Health::kUnknown
                      : old          ? Health::kStops
                                     : Health::kGood,
                      "kernel",
                      fmt::format("{}, at least 4.14", kernel.empty() ? "unknown" : kernel),
                      old && !kernel.empty() ? "DPDK's mlx5 driver needs a newer kernel" : ""});
  return findings;
}

Findings check_device_arguments(const Visit& visit) {
  Findings findings;
  for (const Device& device : visit.devices) {
    if (!is_mlx5(visit, device)) continue;
    if (argument(device, "mprq_en", "0") != "0") {
      findings.push_back(
          {Health::kSlow, "MPRQ",
           fmt::format("{}: mprq_en={}", device.address, argument(device, "mprq_en", "")),
           "leave mprq_en out: with it frames lie in buffers of the driver's own, longer ones for "
           "good, "
           "and the pages of the pool hold only their headers"});
    } else {
      findings.push_back({Health::kGood, "MPRQ", fmt::format("{}: off", device.address), ""});
    }
    if (argument(device, "rxq_cqe_comp_en", "1") == "0") {
      findings.push_back(
          {Health::kSlow, "CQE compression", fmt::format("{}: rxq_cqe_comp_en=0", device.address),
           "leave it out: completions of small frames then take much of the PCI bandwidth"});
    } else {
      findings.push_back(
          {Health::kGood, "CQE compression",
           fmt::format("{}: the driver asks for it; what the firmware prefers, mlxconfig -d {} q "
                       "CQE_COMPRESSION says",
                       device.address, device.address),
           ""});
    }
    if (argument(device, "rx_vec_en", "1") == "0") {
      findings.push_back({Health::kSlow, "vector receive",
                          fmt::format("{}: rx_vec_en=0", device.address), "leave it out"});
    }
  }
  return findings;
}

}  // namespace nearpool::doctor
