// SPDX-License-Identifier: BSD-3-Clause
#include "netdev_requests.hpp"

#include <dlfcn.h>
#include <linux/ethtool.h>
#include <net/if.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../verbs/shim.h"
#include "adapter.hpp"
#include "limits.hpp"
#include "port_description.hpp"

namespace nearpool::connectx4 {
namespace {

struct Statistic {
  const char* name;
  uint64_t (*value)(const PortCounters&);
};

#define TRAFFIC(side, kind)                                                             \
  {#side "_vport_" #kind "_packets",                                                    \
   [](const PortCounters& counters) { return counters.side.kind##_frames.value(); }},   \
  {                                                                                     \
#side "_vport_" #kind "_bytes",                                                     \
        [](const PortCounters& counters) { return counters.side.kind##_bytes.value(); } \
  }

constexpr uint32_t kFcs = 4;  // counted by the physical byte counters

const Statistic kStatistics[] = {
    TRAFFIC(rx, unicast),
    TRAFFIC(rx, multicast),
    TRAFFIC(rx, broadcast),
    TRAFFIC(tx, unicast),
    TRAFFIC(tx, multicast),
    TRAFFIC(tx, broadcast),
    {"rx_packets_phy", [](const PortCounters& c) { return c.rx.frames(); }},
    {"rx_bytes_phy", [](const PortCounters& c) { return c.rx.bytes() + c.rx.frames() * kFcs; }},
    {"tx_packets_phy", [](const PortCounters& c) { return c.tx.frames(); }},
    {"tx_bytes_phy", [](const PortCounters& c) { return c.tx.bytes() + c.tx.frames() * kFcs; }},
    {"rx_wqe_err", [](const PortCounters& c) { return c.rx_wqe_errors.value(); }},
    {"rx_discards_phy", [](const PortCounters& c) { return c.rx_discards.value(); }},
    {"rx_oversize_pkts_phy", [](const PortCounters& c) { return c.rx_oversize.value(); }},
    {"rx_steer_missed_packets", [](const PortCounters& c) { return c.rx_missed.value(); }},
    {"rx_flow_dropped_packets", [](const PortCounters& c) { return c.rx_flow_drops.value(); }},
    {"rx_out_of_buffer", [](const PortCounters& c) { return c.rx_out_of_buffer.value(); }},
    {"tx_errors_phy", [](const PortCounters& c) { return c.tx_errors.value(); }},
    {"tx_discards_phy", [](const PortCounters& c) { return c.tx_discards.value(); }},
    {"tx_wire_lost_packets", [](const PortCounters& c) { return c.tx_lost.value(); }},
};
#undef TRAFFIC
constexpr uint32_t kStatisticCount = sizeof kStatistics / sizeof kStatistics[0];

void answer_driver(ethtool_drvinfo& info) {
  const uint32_t command = info.cmd;
  info = {};
  info.cmd = command;
  std::snprintf(info.driver, sizeof info.driver, "mlx5_core");
  std::snprintf(info.fw_version, sizeof info.fw_version, "%s", kFirmwareVersion);
  info.n_stats = kStatisticCount;
}

int answer_strings(ethtool_gstrings& strings) {
  if (strings.string_set != ETH_SS_STATS) return 0;
  strings.len = kStatisticCount;
  for (uint32_t i = 0; i < kStatisticCount; ++i) {
    char* name = reinterpret_cast<char*>(strings.data) + static_cast<size_t>(i) * ETH_GSTRING_LEN;
    std::memset(name, 0, ETH_GSTRING_LEN);
    std::snprintf(name, ETH_GSTRING_LEN, "%s", kStatistics[i].name);
  }
  return 1;
}

int answer_statistics(ethtool_stats& statistics, const PortCounters& counters) {
  statistics.n_stats = kStatisticCount;
  for (uint32_t i = 0; i < kStatisticCount; ++i) {
    statistics.data[i] = kStatistics[i].value(counters);
  }
  return 1;
}

int answer_link(ethtool_link_settings& link) {
  constexpr int8_t kWords = 4;
  constexpr uint32_t kSpeed = 100'000;
  constexpr uint32_t kMode = ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT;
  if (link.link_mode_masks_nwords != kWords) {
    // The first round of the handshake: how many words a mask has.
    const uint32_t command = link.cmd;
    link = {};
    link.cmd = command;
    link.link_mode_masks_nwords = -kWords;
    return 1;
  }
  std::memset(link.link_mode_masks, 0, sizeof(uint32_t) * kWords * 3);
  link.speed = kSpeed;
  link.duplex = DUPLEX_FULL;
  link.autoneg = AUTONEG_ENABLE;
  link.port = PORT_DA;
  link.link_mode_masks[kMode / 32] |= 1u << kMode % 32;           // supported
  link.link_mode_masks[kWords + kMode / 32] |= 1u << kMode % 32;  // advertised
  return 1;
}

// The port that the request names, or null. Descriptions are there in every process of the run,
// whether or not it has the port open.
PortDescription* port_of(const ifreq& request) {
  for (const auto& description : Adapter::instance().descriptions()) {
    if (description->interface.compare(0, std::string::npos, request.ifr_name,
                                       strnlen(request.ifr_name, IFNAMSIZ)) == 0) {
      return description.get();
    }
  }
  return nullptr;
}

int answer_ethtool(ifreq* request) {
  if (request == nullptr || request->ifr_data == nullptr) return 0;  // the kernel says EFAULT
  PortDescription* port = port_of(*request);
  if (port == nullptr) return 0;
  void* data = request->ifr_data;
  uint32_t command = 0;
  std::memcpy(&command, data, sizeof command);
  switch (command) {
    case ETHTOOL_GDRVINFO:
      answer_driver(*static_cast<ethtool_drvinfo*>(data));
      return 1;
    case ETHTOOL_GSTRINGS:
      return answer_strings(*static_cast<ethtool_gstrings*>(data));
    case ETHTOOL_GSTATS:
      return answer_statistics(*static_cast<ethtool_stats*>(data), port->counters());
    case ETHTOOL_GLINKSETTINGS:
      return answer_link(*static_cast<ethtool_link_settings*>(data));
    case ETHTOOL_GPAUSEPARAM: {
      auto& pause = *static_cast<ethtool_pauseparam*>(data);
      pause.autoneg = 0;
      pause.rx_pause = pause.tx_pause =
          Adapter::instance().config().ports[port->index].lossless ? 1 : 0;
      return 1;
    }
    default:
      return 0;
  }
}

int check_mtu(const ifreq* request) {
  const int mtu = request->ifr_mtu;
  if (mtu >= kLeastMtu && mtu <= kMostMtu) return 0;
  return port_of(*request) == nullptr ? 0 : -EINVAL;
}

void interface_changed(ifreq*) {
  Adapter::instance().refresh_links();
}

}  // namespace

void install_netdev_answers() {
  static const connectx4_shim_calls calls{answer_ethtool, check_mtu, interface_changed};
  using Install = void (*)(const connectx4_shim_calls*);
  const auto install = reinterpret_cast<Install>(dlsym(RTLD_DEFAULT, "connectx4_shim_install"));
  if (install != nullptr) install(&calls);
}

}  // namespace nearpool::connectx4
