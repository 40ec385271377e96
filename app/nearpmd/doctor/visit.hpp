// SPDX-License-Identifier: BSD-3-Clause
// What nearpmd was going to be started with, as far as the doctor asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/machine.hpp"
#include "status.hpp"

namespace nearpool::doctor {

struct Device {
  std::string address;                           // 0000:81:00.0
  std::map<std::string, std::string> arguments;  // mprq_en=1 ...
};

struct PauseFrames {
  bool receive = false;   // the port stands still when it is told to
  bool transmit = false;  // the port tells the other side to stand still
};

// Of a network interface; nullopt: it does not say.
using AskPauseFrames = std::function<std::optional<PauseFrames>(const std::string& interface)>;

struct Visit {
  Machine machine{""};
  std::vector<Device> devices;
  std::vector<int> cpus;            // of the forwarding lcores, ascending
  std::vector<int> main_cpus;       // of the main lcore
  std::vector<std::string> loaded;  // -d
  std::string driver_directory;     // where the EAL looks for drivers by itself
  uint64_t bytes_wanted = 0;        // on each node in use
  bool no_huge = false;
  bool in_memory = false;
  AskPauseFrames ask_pause_frames;

  // Nodes of the lcores and devices; all nodes with CPUs if there are neither. Ascending.
  std::vector<int> nodes_in_use() const;
  // -1: it does not say.
  int node_of(const Device& device) const;
  // Kernel driver that has the device; empty: none.
  std::string driver_of(const Device& device) const;
};

// What stands before "--" on nearpmd's command line.
struct EalArguments {
  bool named_devices = false;
  bool no_pci = false, no_huge = false, in_memory = false;
  std::vector<Device> devices;
  size_t vdevs = 0;
  std::vector<std::vector<int>> lcores;  // CPUs of each lcore, by lcore id; empty: not said
  std::optional<int> main_lcore;
  std::vector<int> lcore_ids;  // of `lcores`
  std::vector<std::string> loaded;
};
Result<EalArguments> read_eal_arguments(const std::vector<std::string>& arguments);

// "0000:81:00.0,mprq_en=1" or "81:00.0"
Device device_of(const std::string& text);

// What the machine has and the arguments leave to the EAL: all its NICs, all CPUs that are allowed.
void complete(Visit& visit, const EalArguments& arguments);

}  // namespace nearpool::doctor
