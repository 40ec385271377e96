// SPDX-License-Identifier: BSD-3-Clause
// start, stop, quit, load, help, and what a next start takes up.
#include <rte_log.h>

#include "cli/session.hpp"

namespace nearpool {
namespace {

constexpr unsigned kMostFirstBursts = 1000;

Status set_mode(Session& session, const std::string& name) {
  const auto verdict = verdict_from_name(name);
  if (!verdict) return tl::unexpected(verdict.error());
  session.engine.options().verdict = *verdict;
  session.chosen("forward-mode", verdict_name(*verdict));
  return {};
}

Status set_touch(Session& session, const std::string& name) {
  const auto touch = touch_from_name(name);
  if (!touch) return tl::unexpected(touch.error());
  session.engine.options().touch = *touch;
  session.chosen("touch", touch_name(*touch));
  return {};
}

Status set_cores(Session& session, const Arguments& arguments) {
  const auto count = arguments.number(2, "number of lcores", RTE_MAX_LCORE);
  if (!count) return tl::unexpected(count.error());
  const size_t most = session.engine.options().corelist.empty()
                          ? session.engine.workers()->lcores().size()
                          : session.engine.options().corelist.size();
  if (*count == 0 || *count > most) {
    return failure("{} forwarding lcores: there may be 1 to {}", *count, most);
  }
  session.engine.options().nb_cores = static_cast<uint16_t>(*count);
  session.chosen("nb-cores", std::to_string(*count));
  return {};
}

Status set_corelist(Session& session, const std::string& text) {
  const auto list = parse_list(text, RTE_MAX_LCORE);
  if (!list) return tl::unexpected(list.error());
  for (const uint16_t lcore : *list) {
    if (session.engine.workers()->find(lcore) == nullptr) {
      return failure("lcore {} cannot forward: there are {}", lcore,
                     list_of(session.engine.workers()->lcores()));
    }
  }
  session.engine.options().corelist = *list;
  session.engine.options().nb_cores = 0;
  session.chosen("corelist", text);
  session.chosen("coremask", "");
  session.chosen("nb-cores", "0");
  return {};
}

Status set_portlist(Session& session, const std::string& text) {
  const auto list = parse_list(text, RTE_MAX_ETHPORTS);
  if (!list) return tl::unexpected(list.error());
  for (const uint16_t port : *list) {
    if (auto found = session.engine.find_port(port); !found) return tl::unexpected(found.error());
  }
  session.engine.options().portlist = *list;
  session.chosen("portlist", text);
  session.chosen("portmask", "");
  return {};
}

Status set_burst(Session& session, const Arguments& arguments) {
  const auto burst = arguments.number(2, "burst", kMaxBurst + 1);
  if (!burst || *burst == 0) {
    return failure("burst '{}' is not a number from 1 to {}", arguments.word(2), kMaxBurst);
  }
  session.engine.options().burst = static_cast<uint16_t>(*burst);
  session.chosen("burst", arguments.word(2));
  return {};
}

Status set_log(const Arguments& arguments) {
  const auto level = arguments.number(3, "log level", RTE_LOG_MAX + 1);
  if (!level || *level == 0) {
    return failure("log level '{}' is not a number from 1 to {}", arguments.word(3),
                   static_cast<unsigned>(RTE_LOG_MAX));
  }
  const std::string type = arguments.word(2);
  if (type == "global") {
    rte_log_set_global_level(*level);
    return {};
  }
  if (rte_log_set_level_pattern(type.c_str(), *level) < 0) {
    return failure("log type '{}' is not a pattern the EAL takes: global, or one as pmd.net.*",
                   type);
  }
  return {};
}

}  // namespace

std::vector<Command> forward_commands(Session& s) {
  const std::string run = "forwarding";
  const std::string set = "settings";
  return {
      {"start", run, "begins forwarding", [&s](const Arguments&) { return s.engine.start(0); }},
      {"start tx_first", run, "sends a burst from each TX queue, then forwards",
       [&s](const Arguments&) { return s.engine.start(1); }},
      {"start tx_first BURSTS", run, "sends so many bursts from each TX queue, then forwards",
       [&s](const Arguments& a) -> Status {
         const auto bursts = a.number(2, "number of bursts", kMostFirstBursts + 1);
         if (!bursts) return tl::unexpected(bursts.error());
         return s.engine.start(*bursts);
       }},
      {"stop", run, "ends forwarding and prints what became of the frames",
       [&s](const Arguments&) -> Status {
         // Those that forwarded: set portlist may have chosen others for the next start.
         const auto ports = s.engine.ports_in_use();
         if (auto status = s.engine.stop(); !status) return status;
         for (const Port* port : ports) {
           print_frames(stdout, *port, s.frames(*port));
         }
         return {};
       }},
      {"quit", run, "ends the program",
       [&s](const Arguments&) -> Status {
         s.quit = true;
         return {};
       }},
      {"load FILE...", run, "runs the commands in a file",
       [&s](const Arguments& a) { return s.load_file(a.word(1)); }},
      {"help", "help", "lists the commands", [&s](const Arguments&) { return s.show_help(""); }},
      {"help SECTION", "help", "lists the commands of a section",
       [&s](const Arguments& a) { return s.show_help(a.word(1)); }},
      {"set fwd MODE", set, "drop, tx, redirect, redirect-cpu or pass; at the next start",
       [&s](const Arguments& a) { return set_mode(s, a.word(2)); }},
      {"set touch LEVEL", set, "no-touch, read-data, parse-ip or swap-macs; at the next start",
       [&s](const Arguments& a) { return set_touch(s, a.word(2)); }},
      {"set nbcore COUNT", set, "number of forwarding lcores; at the next start",
       [&s](const Arguments& a) { return set_cores(s, a); }},
      {"set corelist LIST", set, "forwarding lcores, as 1-2,5; at the next start",
       [&s](const Arguments& a) { return set_corelist(s, a.word(2)); }},
      {"set portlist LIST", set, "ports in use, as 0-2,5; at the next start",
       [&s](const Arguments& a) { return set_portlist(s, a.word(2)); }},
      {"set burst FRAMES", set, "frames per burst; at the next start",
       [&s](const Arguments& a) { return set_burst(s, a); }},
      {"set promisc PORT on|off", set, "promiscuous mode of a port, or of all",
       [&s](const Arguments& a) -> Status {
         const auto ports = s.ports(a, 2);
         if (!ports) return tl::unexpected(ports.error());
         const bool all = a.word(2) == "all";
         Status first;
         for (Port* port : *ports) {
           if (all && port->state() == PortState::kClosed) continue;
           if (auto status = port->set_promiscuous(a.on(3)); !status && first) first = status;
         }
         if (first && all) s.chosen("promiscuous-mode", a.word(3));
         return first;
       }},
      {"set verbose LEVEL", set, "0: errors only; 1: and moves; 2: and what rebalancing decides",
       [&s](const Arguments& a) -> Status {
         const auto level = a.number(2, "level", 3);
         if (!level) return tl::unexpected(level.error());
         s.verbose = *level;
         return {};
       }},
      {"set log TYPE LEVEL", set, "log level 1 to 8 of a log type, or global",
       [](const Arguments& a) { return set_log(a); }},
  };
}

}  // namespace nearpool
