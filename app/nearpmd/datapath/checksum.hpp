// SPDX-License-Identifier: BSD-3-Clause
// Checksums that a frame was received without. A port with receive offloads may deliver frames
// whose checksum its sender left to it (virtio-user), and a software link hands on what an
// application asked of a NIC (net_ring): such a frame must not leave as it is.
#pragma once

#include <rte_mbuf.h>

#include "datapath/counters.hpp"
#include "datapath/tx_queue.hpp"

namespace nearpool {

// Checksums that are asked for of a port, in either direction, where it offers them.
constexpr uint64_t kRxChecksumOffloads =
    RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
constexpr uint64_t kTxChecksumOffloads =
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;

// For each frame that lacks a checksum: asks the device of `out` for it where that offers it, else
// writes it. Counts frames whose checksum the receiving device found to be wrong; they stay as they
// are, since their receiver must see that. Frames without flags are only looked at.
void pass_checksums(const TxQueue& out, QueueCounters& counters, rte_mbuf** burst, unsigned count);

}  // namespace nearpool
