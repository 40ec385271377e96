// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_version.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace nearpool::bench {

namespace {

// The value of the first line that starts with the label; empty if there is none.
std::string value_in(const char* path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t:", label.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

bool is_virtual() {
  return value_in("/proc/cpuinfo", "flags").find("hypervisor") != std::string::npos;
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

unsigned free_hugepages() {
  const std::string pages =
      value_in("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "");
  return static_cast<unsigned>(std::strtoul(pages.c_str(), nullptr, 10));
}

void print_machine(const std::vector<unsigned>& cpus, const std::string& memory) {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = 0;
  std::string pinned;
  for (const unsigned cpu : cpus)
    pinned += fmt::format(" {}", cpu);
  fmt::print("CPU: {}, {} online, pinned to{}; {}\n", value_in("/proc/cpuinfo", "model name"),
             sysconf(_SC_NPROCESSORS_ONLN), pinned,
             is_virtual() ? "a virtual machine: its host may be shared, caches and cores with it"
                          : "no hypervisor seen");
  fmt::print("load average {:.1f} before the run; memory: {}; {}\n", load, memory, rte_version());
  fmt::print("TSC {:.2f} GHz: cycles are TSC cycles, whatever the core's clock is\n",
             static_cast<double>(rte_get_tsc_hz()) / 1e9);
}

}  // namespace nearpool::bench
