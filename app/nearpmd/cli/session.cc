// SPDX-License-Identifier: BSD-3-Clause
#include "cli/session.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace nearpool {
namespace {

void rebalance(Session& session) {
  const RebalanceOptions& options = session.engine.options().rebalance;
  session.rebalance_load.look(session.engine);
  const auto move =
      choose_move(session.rebalance_load.queues(session.engine), session.engine.forwarding_lcores(),
                  options.threshold_percent / 100.0, options.gain_percent / 100.0);
  if (!move) {
    if (session.verbose > 1) fmt::print("rebalance: nothing to gain\n");
    return;
  }
  if (session.verbose > 0) {
    fmt::print(
        "rebalance{}: port {} queue {} from lcore {} to {}: highest load {:.0f}% -> {:.0f}%\n",
        options.dry_run ? " (dry run)" : "", move->key.port, move->key.queue, move->from, move->to,
        100 * move->before, 100 * move->after);
  }
  if (options.dry_run) return;
  if (auto status = session.engine.move(move->key, move->to); !status) {
    fmt::print(stderr, "nearpmd: rebalance: {}\n", status.error());
  }
}

}  // namespace

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
  if (now_seconds >= session.next_rebalance) {
    // The first look only begins the period.
    const bool due = session.next_rebalance != 0;
    session.next_rebalance = now_seconds + options.rebalance.period_seconds;
    if (!options.rebalance.on || !session.engine.forwarding() || !due) {
      session.rebalance_load.look(session.engine);
    } else {
      rebalance(session);
      std::fflush(stdout);  // nobody need press a key to hear of it
    }
  }
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
