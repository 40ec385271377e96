// SPDX-License-Identifier: BSD-3-Clause
// show port, show fwd stats, clear.
#include "cli/session.hpp"

namespace nearpool {
namespace {

const char* state_name(PortState state) {
  switch (state) {
    case PortState::kStarted:
      return "started";
    case PortState::kStopped:
      return "stopped";
    case PortState::kClosed:
      break;
  }
  return "closed";
}

std::string mac_text(const MacAddress& mac) {
  return fmt::format("{:02X}:{:02X}:{:02X}:{:02X}:{:02X}:{:02X}", mac[0], mac[1], mac[2], mac[3],
                     mac[4], mac[5]);
}

std::string link_text(const Port& port) {
  if (port.state() == PortState::kClosed) return "closed";
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(port.id(), &link) != 0) return "unknown";
  return link.link_status == RTE_ETH_LINK_UP ? "up" : "down";
}

std::string node_text(int node) {
  return node == kUnknownNode ? "unknown" : std::to_string(node);
}

std::string offload_names(uint64_t offloads, const char* (*name)(uint64_t)) {
  std::string names;
  for (uint64_t left = offloads; left != 0; left &= left - 1)
    names += fmt::format(" {}", name(left & -left));
  return names.empty() ? " none" : names;
}

void print_info(const Port& port) {
  fmt::print("port {}: {}, driver {}, {}\n", port.id(), port.name(), port.driver(),
             state_name(port.state()));
  fmt::print("  MAC {}, link {}, node {}\n", mac_text(port.mac()), link_text(port),
             node_text(port.node()));
  const PortShape& shape = port.shape();
  fmt::print("  {} RX queues of {} descriptors, {} TX queues of {}\n", shape.rxq, shape.rxd,
             shape.txq, shape.txd);
  if (port.state() == PortState::kClosed) return;
  uint16_t mtu = 0;
  rte_eth_dev_get_mtu(port.id(), &mtu);
  fmt::print("  MTU {}, promiscuous mode {}\n", mtu,
             rte_eth_promiscuous_get(port.id()) == 1 ? "on" : "off");
  fmt::print("  RX offloads:{}; TX offloads:{}\n",
             offload_names(port.rx_offloads(), rte_eth_dev_rx_offload_name),
             offload_names(port.tx_offloads(), rte_eth_dev_tx_offload_name));
}

void print_stats(const Port& port) {
  const rte_eth_stats stats = port.stats();
  fmt::print(
      "port {}: RX-packets {} RX-missed {} RX-bytes {} RX-errors {} RX-nombuf {} (refills refused) "
      "TX-packets {} TX-errors {} TX-bytes {}\n",
      port.id(), stats.ipackets, stats.imissed, stats.ibytes, stats.ierrors, stats.rx_nombuf,
      stats.opackets, stats.oerrors, stats.obytes);
}

Status print_xstats(const Port& port) {
  if (port.state() == PortState::kClosed) return failure("port {} is closed", port.id());
  const int count = rte_eth_xstats_get_names(port.id(), nullptr, 0);
  if (count < 0) return failure("port {} has no extended statistics", port.id());
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
  const auto size = static_cast<unsigned>(count);
  if (rte_eth_xstats_get_names(port.id(), names.data(), size) != count ||
      rte_eth_xstats_get(port.id(), values.data(), size) != count) {
    return failure("port {} does not give its extended statistics", port.id());
  }
  fmt::print("port {}:\n", port.id());
  for (const rte_eth_xstat& value : values) {
    fmt::print("  {}: {}\n", names[value.id].name, value.value);
  }
  return {};
}

void print_summary(const Session& session) {
  fmt::print("{} ports\nport MAC               name             driver           link state\n",
             session.engine.ports().size());
  for (const auto& [id, port] : session.engine.ports()) {
    fmt::print("{:<4} {} {:<16} {:<16} {:<4} {}\n", id, mac_text(port->mac()), port->name(),
               port->driver(), link_text(*port), state_name(port->state()));
  }
}

Status show_port(Session& session, const Arguments& arguments) {
  const auto ports = session.ports(arguments, 3);
  if (!ports) return tl::unexpected(ports.error());
  const std::string what = arguments.word(2);
  if (what == "summary") {
    print_summary(session);
    return {};
  }
  for (const Port* port : *ports) {
    if (what == "info") print_info(*port);
    if (what == "stats") print_stats(*port);
    if (what != "xstats") continue;
    if (auto status = print_xstats(*port); !status) return status;
  }
  return {};
}

Status clear_port(Session& session, const Arguments& arguments) {
  const auto ports = session.ports(arguments, 3);
  if (!ports) return tl::unexpected(ports.error());
  const bool extended = arguments.word(2) == "xstats";
  for (const Port* port : *ports) {
    if (port->state() == PortState::kClosed) return failure("port {} is closed", port->id());
    const int error = extended ? rte_eth_xstats_reset(port->id()) : rte_eth_stats_reset(port->id());
    if (error != 0) {
      return failure("port {} does not clear its {}: {}", port->id(), arguments.word(2),
                     rte_strerror(-error));
    }
  }
  return {};
}

}  // namespace

std::vector<Command> port_show_commands(Session& s) {
  const std::string show = "show";
  return {
      {"show port info|stats|xstats|summary PORT", show, "a port, or all",
       [&s](const Arguments& a) { return show_port(s, a); }},
      {"show port summary", show, "all ports, a line each",
       [&s](const Arguments&) -> Status {
         print_summary(s);
         return {};
       }},
      {"show fwd stats all", show, "what became of the frames",
       [&s](const Arguments&) -> Status {
         for (const Port* port : s.engine.ports_in_use()) {
           print_frames(stdout, *port, s.frames(*port));
         }
         return {};
       }},
      {"clear port stats|xstats PORT", show, "the device's own counters of a port, or of all",
       [&s](const Arguments& a) { return clear_port(s, a); }},
      {"clear fwd stats all", show, "what show fwd stats counts",
       [&s](const Arguments&) -> Status {
         for (const auto& entry : s.engine.ports()) {
           s.cleared[entry.first] = frames_of(*entry.second);
         }
         return {};
       }},
  };
}

}  // namespace nearpool
