// SPDX-License-Identifier: BSD-3-Clause
// What the prompt's commands work on. Control thread only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_table.hpp"
#include "cli/options.hpp"
#include "control/engine.hpp"
#include "control/live_view.hpp"
#include "control/load_meter.hpp"
#include "control/rebalancer.hpp"
#include "control/report.hpp"

namespace nearpool {

struct Session {
  Session(Engine& of, std::vector<OptionOrigin> options)
      : engine(of), origins(std::move(options)) {}

  Engine& engine;
  std::vector<OptionOrigin> origins;
  bool quit = false;
  unsigned verbose = 1;  // 0: errors only; 1: and moves; 2: and what rebalancing decides
  LoadMeter load;        // over the last second
  Rebalancer rebalancer;
  double next_load = 0;    // seconds
  double next_report = 0;  // seconds
  LiveView view;
  // What `clear fwd stats all` subtracts.
  std::map<uint16_t, PortFrames> cleared;
  // Runs a file of commands; the sentence names file and line. Set by the prompt.
  std::function<Status(const std::string& path)> load_file;
  std::function<Status(const std::string& section)> show_help;

  // Writes down that `value` came from the prompt, for `show config`.
  void chosen(const std::string& option, const std::string& value);
  PortFrames frames(const Port& port) const;
  // The ports that "all" or a number stands for.
  Result<std::vector<Port*>> ports(const Arguments& arguments, size_t index) const;
};

// About ten times a second: load, rebalancing, statistics, the pools' housekeeping.
void tick_session(Session& session, double now_seconds);

std::vector<Command> forward_commands(Session& session);
std::vector<Command> port_commands(Session& session);
std::vector<Command> port_show_commands(Session& session);
std::vector<Command> config_commands(Session& session);
std::vector<Command> pool_commands(Session& session);
std::vector<Command> queue_commands(Session& session);
std::vector<Command> all_commands(Session& session);

}  // namespace nearpool
