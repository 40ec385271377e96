// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/visit.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace nearpool::doctor {
namespace {

const std::string kPci = "/sys/bus/pci/devices/";

// Splits at commas outside of brackets.
std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') depth++;
    if (c == ')') depth--;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

std::string without_brackets(std::string text) {
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return text;
}

// "0-1,2@4,(3-4)@(6-7)": lcores of a bracket share its CPUs, others are on the CPU of their number.
bool read_lcores(const std::string& text, EalArguments& into) {
  std::map<int, std::vector<int>> places;
  for (const std::string& item : items_of(text)) {
    const size_t at = item.find('@');
    const auto lcores = numbers_of(without_brackets(item.substr(0, at)));
    if (lcores.empty()) return false;
    const auto cpus =
        at == std::string::npos ? lcores : numbers_of(without_brackets(item.substr(at + 1)));
    if (cpus.empty()) return false;
    const bool together = at != std::string::npos || item.starts_with('(');
    for (const int lcore : lcores)
      places[lcore] = together ? cpus : std::vector<int>{lcore};
  }
  for (const auto& [lcore, cpus] : places) {
    into.lcore_ids.push_back(lcore);
    into.lcores.push_back(cpus);
  }
  return true;
}

bool read_mask(std::string text, EalArguments& into) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.erase(0, 2);
  uint64_t mask = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mask, 16);
  if (error != std::errc{} || end != text.data() + text.size() || mask == 0) return false;
  for (int bit = 0; bit < 64; bit++) {
    if ((mask >> bit & 1) == 0) continue;
    into.lcore_ids.push_back(bit);
    into.lcores.push_back({bit});
  }
  return true;
}

// Options of the EAL with a value, by their long and short names.
const std::map<std::string, std::string> kWithValue = {{"-a", "allow"},
                                                       {"--allow", "allow"},
                                                       {"-b", "block"},
                                                       {"--block", "block"},
                                                       {"-l", "lcores"},
                                                       {"--lcores", "lcores"},
                                                       {"-c", "mask"},
                                                       {"-d", "load"},
                                                       {"--main-lcore", "main"},
                                                       {"--vdev", "vdev"},
                                                       {"--file-prefix", ""},
                                                       {"-m", ""},
                                                       {"-n", ""},
                                                       {"-r", ""},
                                                       {"-s", ""},
                                                       {"--huge-dir", ""},
                                                       {"--iova-mode", ""},
                                                       {"--log-level", ""},
                                                       {"--proc-type", ""},
                                                       {"--socket-mem", ""},
                                                       {"--socket-limit", ""},
                                                       {"--trace", ""},
                                                       {"--trace-dir", ""},
                                                       {"--vfio-intr", ""},
                                                       {"--numa-mem", ""},
                                                       {"--base-virtaddr", ""},
                                                       {"--force-max-simd-bitwidth", ""}};

Status take(const std::string& kind, const std::string& value, EalArguments& into) {
  if (kind == "allow") {
    into.named_devices = true;
    into.devices.push_back(device_of(value));
  } else if (kind == "lcores" || kind == "mask") {
    if (!(kind == "mask" ? read_mask(value, into) : read_lcores(value, into))) {
      return failure("'{}' names no lcores: give -l 0,2-4 or --lcores 0@0,1@4", value);
    }
  } else if (kind == "load") {
    into.loaded.push_back(value);
  } else if (kind == "vdev") {
    into.vdevs++;
  } else if (kind == "main") {
    const auto numbers = numbers_of(value);
    if (numbers.size() != 1)
      return failure("--main-lcore '{}' is not the number of a lcore", value);
    into.main_lcore = numbers.front();
  }
  return {};
}

bool is_nic(const Machine& machine, const std::string& address) {
  return machine.read(kPci + address + "/class").starts_with("0x02");
}

}  // namespace

Device device_of(const std::string& text) {
  Device device;
  const auto items = items_of(text);
  device.address = items.front();
  if (device.address.starts_with("pci:")) device.address.erase(0, 4);
  if (std::count(device.address.begin(), device.address.end(), ':') == 1) {
    device.address = "0000:" + device.address;
  }
  for (size_t i = 1; i < items.size(); i++) {
    const size_t equal = std::min(items[i].find('='), items[i].size());
    device.arguments[items[i].substr(0, equal)] =
        equal == items[i].size() ? "" : items[i].substr(equal + 1);
  }
  return device;
}

Result<EalArguments> read_eal_arguments(const std::vector<std::string>& arguments) {
  EalArguments read;
  for (size_t i = 0; i < arguments.size(); i++) {
    std::string name = arguments[i];
    std::optional<std::string> value;
    if (const size_t equal = name.find('='); name.starts_with("--") && equal != std::string::npos) {
      value = name.substr(equal + 1);
      name.resize(equal);
    } else if (name.size() > 2 && name[0] == '-' && name[1] != '-') {
      value = name.substr(2);  // -l0,1
      name.resize(2);
    }
    if (name == "--no-huge") read.no_huge = true;
    if (name == "--in-memory") read.in_memory = true;
    if (name == "--no-pci") read.no_pci = true;
    const auto known = kWithValue.find(name);
    if (known == kWithValue.end()) continue;
    if (!value && i + 1 < arguments.size()) value = arguments[++i];
    if (!value) return failure("{} wants a value", name);
    if (auto status = take(known->second, *value, read); !status) {
      return tl::unexpected(status.error());
    }
  }
  return read;
}

void complete(Visit& visit, const EalArguments& arguments) {
  visit.devices = arguments.devices;
  visit.no_huge = arguments.no_huge;
  visit.in_memory = arguments.in_memory;
  visit.loaded = arguments.loaded;
  if (!arguments.named_devices && !arguments.no_pci) {
    // What the EAL would take by itself: NICs whose kernel driver leaves them to programs.
    for (const std::string& address : visit.machine.entries(kPci)) {
      if (!is_nic(visit.machine, address)) continue;
      const Device device{address, {}};
      const std::string driver = visit.driver_of(device);
      if (driver == "mlx5_core" || driver == "vfio-pci" ||
          driver.find("uio") != std::string::npos) {
        visit.devices.push_back(device);
      }
    }
  }
  auto lcores = arguments.lcores;
  auto ids = arguments.lcore_ids;
  if (lcores.empty()) {
    for (const int cpu : numbers_of(visit.machine.own_status("Cpus_allowed_list"))) {
      lcores.push_back({cpu});
      ids.push_back(cpu);
    }
  }
  std::set<int> cpus;
  for (size_t i = 0; i < lcores.size(); i++) {
    // The main lcore does not forward: the one that is named, else the first.
    if (arguments.main_lcore ? ids[i] == *arguments.main_lcore : i == 0) {
      visit.main_cpus = lcores[i];
    } else {
      cpus.insert(lcores[i].begin(), lcores[i].end());
    }
  }
  visit.cpus.assign(cpus.begin(), cpus.end());
}

int Visit::node_of(const Device& device) const {
  return static_cast<int>(machine.number(kPci + device.address + "/numa_node").value_or(-1));
}

std::string Visit::driver_of(const Device& device) const {
  return machine.link_name(kPci + device.address + "/driver");
}

std::vector<int> Visit::nodes_in_use() const {
  std::set<int> nodes;
  for (const int cpu : cpus)
    nodes.insert(machine.node_of_cpu(cpu));
  for (const Device& device : devices)
    nodes.insert(node_of(device));
  nodes.erase(-1);
  if (nodes.empty()) {
    for (const auto& [node, on] : machine.nodes())
      if (!on.empty()) nodes.insert(node);
  }
  return {nodes.begin(), nodes.end()};
}

}  // namespace nearpool::doctor
