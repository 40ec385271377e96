// SPDX-License-Identifier: BSD-3-Clause
// What the launcher wrote down for this run: lines of "name value" in the file `config` of the
// run's directory, which the environment variable CONNECTX4_DIR names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fault.hpp"
#include "shaper.hpp"

namespace nearpool::connectx4 {

struct PortConfig {
  std::string wire = "peer";
  Rate rate;
  double loss = 0;
  bool lossless = false;
};

struct RunConfig {
  std::string directory;
  std::vector<PortConfig> ports;
  std::vector<Fault> faults;
  std::vector<int> cpus;    // of the device threads; empty: where the program may run
  std::string report_file;  // device times are appended to it; empty: not
  bool thread_per_port = false;
  bool multi_packet = false;  // MPRQ is offered
  uint64_t seed = 1;
  int log_level = 0;
};

constexpr char kDirectoryVariable[] = "CONNECTX4_DIR";

// Applies one line; the launcher checks its options with it, and the device reads them with it.
// False with a sentence for what cannot be understood. Port lines are "wire", "rate", "loss" and
// "lossless", whose value may begin with "INDEX=", and else are for all ports.
bool apply_config_line(std::string_view name, std::string_view value, RunConfig& config,
                       std::string& error);

// Reads the run's file. False with a sentence.
bool read_run_config(const std::string& directory, RunConfig& config, std::string& error);

// "0,2-3" as 0 2 3.
bool parse_list(std::string_view text, std::vector<int>& list);

}  // namespace nearpool::connectx4
