// SPDX-License-Identifier: BSD-3-Clause
// show config: what is in force and where it came from.
#include "cli/session.hpp"

namespace nearpool {
namespace {

void show_options(const Session& session) {
  for (const OptionOrigin& option : session.origins) {
    fmt::print("{} = {} ({})\n", option.name, option.value.empty() ? "-" : option.value,
               option.origin);
  }
}

void show_rxtx(const Session& session) {
  const Options& options = session.engine.options();
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
  std::vector<unsigned> lcores;
  for (const LcorePlace& place : session.engine.forwarding_lcores())
    lcores.push_back(place.lcore);
  fmt::print("forwarding lcores: {}\n", list_of(lcores));
}

void show_fwd(const Session& session) {
  const auto ports = session.engine.ports_in_use();
  const auto lcores = session.engine.forwarding_lcores();
  std::vector<uint16_t> ids;
  for (const Port* port : ports)
    ids.push_back(port->id());
  const Options& options = session.engine.options();
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
