// SPDX-License-Identifier: BSD-3-Clause
// Fits the settings to what a device offers. Arithmetic on its information; no device is touched.
#pragma once

#include <rte_ethdev.h>

#include "control/port.hpp"

namespace nearpool {

// Ethernet header and CRC around an MTU.
constexpr uint32_t kFrameOverhead = 18;

Result<PortShape> fit_shape(uint16_t id, const std::string& driver, const rte_eth_dev_info& info,
                            const PortSettings& settings);

// Offloads and modes. MBUF_FAST_FREE is never on: a TX queue sees pages of several pools.
rte_eth_conf port_conf(const rte_eth_dev_info& info, const PortSettings& settings,
                       const PortShape& shape);

}  // namespace nearpool
