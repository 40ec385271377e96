// SPDX-License-Identifier: BSD-3-Clause
// show config: what is in force and where it came from.
#include "cli/session.hpp"

namespace nearpool {
namespace {

std::string list_of_lcores(const Engine& engine, const Options& options) {
  std::vector<unsigned> lcores;
  for (const LcorePlace& place : engine.lcores_of(options))
    lcores.push_back(place.lcore);
  return list_of(lcores);
}

std::string list_of_ports(const Engine& engine, const Options& options) {
  std::vector<uint16_t> ids;
  for (const Port* port : engine.ports_of(options))
    ids.push_back(port->id());
  return list_of(ids);
}

// The watermark in force on the first node; all nodes have as many pages.
std::string watermark(const Engine& engine, uint32_t page_arena_stats::*mark) {
  page_arena_stats stats{};
  const page_arena* arena = engine.memory()->arena();
  if (arena == nullptr || page_arena_get_stats(arena, 0, &stats) != 0) return "-";
  return std::to_string(stats.*mark);
}

// Options whose value stands for something that is worked out at run time, or of which the next
// start takes up another than is in force.
struct WorkedOut {
  const char* name;
  std::string (*value)(const Engine& engine, const Options& options);
};
constexpr WorkedOut kWorkedOut[] = {
    {"forward-mode",
     [](const Engine&, const Options& o) -> std::string { return verdict_name(o.verdict); }},
    {"touch", [](const Engine&, const Options& o) -> std::string { return touch_name(o.touch); }},
    {"burst", [](const Engine&, const Options& o) { return std::to_string(o.burst); }},
    {"nb-cores",
     [](const Engine& e, const Options& o) { return std::to_string(e.lcores_of(o).size()); }},
    {"corelist", list_of_lcores},
    {"portlist", list_of_ports},
    {"txq",
     [](const Engine& e, const Options& o) {
       return std::to_string(o.txq != 0 ? o.txq : e.lcores_of(o).size());
     }},
    {"total-num-pages",
     [](const Engine& e, const Options&) { return std::to_string(e.memory()->pages_per_node()); }},
    {"arena-no-huge",
     [](const Engine&, const Options& o) -> std::string {
       return o.arena.no_huge ? "true" : "false";
     }},
    {"arena-min",
     [](const Engine& e, const Options&) { return watermark(e, &page_arena_stats::min); }},
    {"arena-low",
     [](const Engine& e, const Options&) { return watermark(e, &page_arena_stats::low); }},
    {"arena-high",
     [](const Engine& e, const Options&) { return watermark(e, &page_arena_stats::high); }},
    {"pool-quota",
     [](const Engine& e, const Options&) { return std::to_string(e.memory()->quota()); }},
};

void show_options(const Session& session) {
  const Engine& engine = session.engine;
  for (const OptionOrigin& option : session.origins) {
    std::string value = option.value;
    std::string next;
    for (const WorkedOut& entry : kWorkedOut) {
      if (option.name != entry.name) continue;
      value = entry.value(engine, engine.in_force());
      next = entry.value(engine, engine.options());
      // Queues of a port are not changed by a start.
      if (next == value || option.name == "txq") next.clear();
    }
    if (!next.empty()) next = fmt::format(", from the next start on {}", next);
    fmt::print("{} = {}{} ({})\n", option.name, value.empty() ? "-" : value, next, option.origin);
  }
}

void show_rxtx(const Session& session) {
  const Options& options = session.engine.in_force();
  fmt::print("forward mode {}, touch level {}, burst {}, {} ports, forwarding {}\n",
             verdict_name(options.verdict), touch_name(options.touch), options.burst,
             session.engine.ports_in_use().size(),
             session.engine.forwarding() ? "runs" : "does not run");
  for (const Port* port : session.engine.ports_in_use()) {
    const PortShape& shape = port->shape();
    fmt::print("port {}: {} RX queues of {} descriptors, {} TX queues of {}{}\n", port->id(),
               shape.rxq, shape.rxd, shape.txq, shape.txd,
               shape.txq < session.engine.forwarding_lcores().size() ? ", shared by lcores" : "");
  }
}

void show_cores(const Session& session) {
  fmt::print("forwarding lcores: {}\n", list_of_lcores(session.engine, session.engine.in_force()));
}

void show_fwd(const Session& session) {
  const auto ports = session.engine.ports_in_use();
  const auto lcores = session.engine.forwarding_lcores();
  std::vector<uint16_t> ids;
  for (const Port* port : ports)
    ids.push_back(port->id());
  const Options& options = session.engine.in_force();
  fmt::print("{}, {} topology\n", verdict_name(options.verdict), topology_name(options.topology));
  for (const Port* port : ports) {
    for (uint16_t q = 0; q < port->shape().rxq; q++) {
      const unsigned owner = session.engine.owner({port->id(), q});
      if (owner == kNoLcore) continue;
      fmt::print("lcore {}: port {} queue {}", owner, port->id(), q);
      switch (options.verdict) {
        case Verdict::kDrop:
          fmt::print(" -> dropped\n");
          break;
        case Verdict::kTx:
          fmt::print(" -> port {}\n", port->id());
          break;
        case Verdict::kRedirectCpu:
          fmt::print(" -> lcore {} -> port {}\n", transmitter_of(lcores, owner),
                     peer_of(ids, port->id(), options.topology));
          break;
        case Verdict::kRedirect:
          fmt::print(" -> port {}\n", peer_of(ids, port->id(), options.topology));
          break;
        case Verdict::kPass: {
          const auto routes = pass_routes(ports, options.pass_map);
          const auto route = routes.find(port->id());
          fmt::print(" -> {}\n", route == routes.end() ? "no exception port: dropped"
                                                       : fmt::format("port {}", route->second));
          break;
        }
      }
    }
  }
}

}  // namespace

std::vector<Command> config_commands(Session& s) {
  const std::string show = "show";
  const auto does = [](auto print) {
    return [print](const Arguments&) -> Status {
      print();
      return {};
    };
  };
  return {
      {"show config", show, "every option in force and where it came from",
       does([&s] { show_options(s); })},
      {"show config rxtx", show, "queues, descriptors and bursts", does([&s] { show_rxtx(s); })},
      {"show config cores", show, "the forwarding lcores", does([&s] { show_cores(s); })},
      {"show config fwd", show, "where frames of each queue go", does([&s] { show_fwd(s); })},
  };
}

}  // namespace nearpool
