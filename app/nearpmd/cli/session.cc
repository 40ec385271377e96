// SPDX-License-Identifier: BSD-3-Clause
#include "cli/session.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace nearpool {
void Session::chosen(const std::string& option, const std::string& value) {
  for (OptionOrigin& entry : origins) {
    if (entry.name != option) continue;
    entry.value = value;
    entry.origin = "prompt";
  }
}

PortFrames Session::frames(const Port& port) const {
  PortFrames frames = frames_of(port);
  if (const auto before = cleared.find(port.id()); before != cleared.end()) {
    frames.polled -= before->second.polled;
    frames.transmitted -= before->second.transmitted;
  }
  return frames;
}

Result<std::vector<Port*>> Session::ports(const Arguments& arguments, size_t index) const {
  std::vector<Port*> ports;
  if (arguments.word(index) == "all") {
    for (const auto& entry : engine.ports())
      ports.push_back(entry.second.get());
    if (ports.empty()) return failure("there is no port: none is attached");
    return ports;
  }
  const auto id = arguments.number(index, "port", RTE_MAX_ETHPORTS);
  if (!id) return failure("{}, or all", id.error());
  const auto port = engine.find_port(static_cast<uint16_t>(*id));
  if (!port) return tl::unexpected(port.error());
  ports.push_back(*port);
  return ports;
}

void tick_session(Session& session, double now_seconds) {
  session.engine.tick();
  if (now_seconds >= session.next_load) {
    session.load.look(session.engine);
    session.next_load = now_seconds + 1;
  }
  const Options& options = session.engine.options();
  session.rebalancer.tick(session.engine, now_seconds, session.verbose);
  if (options.stats_period != 0 && now_seconds >= session.next_report) {
    const bool due = session.next_report != 0;
    session.next_report = now_seconds + options.stats_period;
    if (!due || !session.engine.forwarding()) return;
    for (const Port* port : session.engine.ports_in_use()) {
      print_frames(stdout, *port, session.frames(*port));
    }
    // Below a prompt nothing is redrawn: somebody may be typing.
    fmt::print("{}", session.view.next(look_at_queues(session.engine), now_seconds, 0));
    std::fflush(stdout);
  }
}

std::vector<Command> all_commands(Session& session) {
  std::vector<Command> all;
  for (auto make : {forward_commands, port_commands, port_show_commands, config_commands,
                    pool_commands, queue_commands}) {
    auto commands = make(session);
    std::move(commands.begin(), commands.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace nearpool
