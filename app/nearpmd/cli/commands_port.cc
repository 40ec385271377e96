// SPDX-License-Identifier: BSD-3-Clause
// port start, stop, close, reset, attach, detach, config; also while the other ports forward.
#include "cli/session.hpp"

namespace nearpool {
namespace {

// For "all": the ports that the command makes sense for; for a number: that port, whatever it says.
Status for_ports(Session& session, const Arguments& arguments, PortState from,
                 Status (Engine::*act)(uint16_t)) {
  const auto ports = session.ports(arguments, 2);
  if (!ports) return tl::unexpected(ports.error());
  const bool all = arguments.word(2) == "all";
  for (const Port* port : *ports) {
    if (all && port->state() != from) continue;
    if (auto status = (session.engine.*act)(port->id()); !status) return status;
  }
  return {};
}

Status attach(Session& session, const std::string& identifier) {
  const auto ports = session.engine.attach(identifier);
  if (!ports) return tl::unexpected(ports.error());
  for (const uint16_t port : *ports) {
    session.cleared.erase(port);
    fmt::print("port {} attached: {}; port start {} begins it\n", port,
               session.engine.ports().at(port)->name(), port);
  }
  return {};
}

Status detach(Session& session, const Arguments& arguments) {
  const auto id = arguments.number(2, "port", RTE_MAX_ETHPORTS);
  if (!id) return tl::unexpected(id.error());
  const auto gone = session.engine.detach(static_cast<uint16_t>(*id));
  if (!gone) return tl::unexpected(gone.error());
  for (const uint16_t port : *gone) {
    session.cleared.erase(port);
    fmt::print("port {} detached\n", port);
  }
  return {};
}

struct Setting {
  const char* name;
  uint16_t Options::*member;
  unsigned most;
};
constexpr Setting kSettings[] = {
    {"rxq", &Options::rxq, 1024},
    {"txq", &Options::txq, 1024},
    {"rxd", &Options::rxd, 32768},
    {"txd", &Options::txd, 32768},
};

Status configure(Session& session, const Arguments& arguments) {
  const std::string name = arguments.word(3);
  for (const Setting& setting : kSettings) {
    if (name != setting.name) continue;
    const auto value = arguments.number(4, setting.name, setting.most + 1);
    if (!value) return tl::unexpected(value.error());
    if (*value == 0) return failure("{} 0 is not a number from 1 to {}", name, setting.most);
    Options& options = session.engine.options();
    const uint16_t before = options.*setting.member;
    options.*setting.member = static_cast<uint16_t>(*value);
    if (auto status = session.engine.reconfigure(); !status) {
      options.*setting.member = before;
      (void)session.engine.reconfigure();
      return status;
    }
    session.chosen(name, arguments.word(4));
    return {};
  }
  return failure("'{}' is not one of rxq, txq, rxd, txd", name);
}

Status set_mtu(Session& session, const Arguments& arguments) {
  const auto ports = session.ports(arguments, 3);
  if (!ports) return tl::unexpected(ports.error());
  const auto mtu = arguments.number(4, "MTU", 65536);
  if (!mtu) return tl::unexpected(mtu.error());
  for (Port* port : *ports) {
    if (auto status = port->change_mtu(static_cast<uint16_t>(*mtu)); !status) return status;
    fmt::print("port {}: MTU {}\n", port->id(), *mtu);
  }
  return {};
}

}  // namespace

std::vector<Command> port_commands(Session& s) {
  const std::string ports = "ports";
  return {
      {"port start PORT", ports, "starts a stopped port, or all",
       [&s](const Arguments& a) {
         return for_ports(s, a, PortState::kStopped, &Engine::start_port);
       }},
      {"port stop PORT", ports, "stops a port, or all; the others go on",
       [&s](const Arguments& a) {
         return for_ports(s, a, PortState::kStarted, &Engine::stop_port);
       }},
      {"port close PORT", ports, "closes a stopped port, or all",
       [&s](const Arguments& a) {
         return for_ports(s, a, PortState::kStopped, &Engine::close_port);
       }},
      {"port reset PORT", ports, "resets a stopped port, or all",
       [&s](const Arguments& a) {
         return for_ports(s, a, PortState::kStopped, &Engine::reset_port);
       }},
      {"port attach IDENT...", ports, "adds a device: a PCI address, or a vdev with its arguments",
       [&s](const Arguments& a) { return attach(s, a.word(2)); }},
      {"port detach PORT", ports, "removes a stopped or closed port and its device",
       [&s](const Arguments& a) { return detach(s, a); }},
      {"port config all rxq|txq|rxd|txd NUMBER", ports,
       "queues and descriptors of all ports, which are stopped",
       [&s](const Arguments& a) { return configure(s, a); }},
      {"port config mtu PORT MTU", ports, "MTU of a stopped port, or of all",
       [&s](const Arguments& a) { return set_mtu(s, a); }},
  };
}

}  // namespace nearpool
