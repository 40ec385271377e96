// SPDX-License-Identifier: BSD-3-Clause
// Touch levels: what is read or written of each frame before its verdict, as xdp-bench has them.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "cli/options.hpp"
#include "datapath/counters.hpp"

namespace nearpool {

// Touches a burst. Frames shorter than an Ethernet header are freed and counted as runts; the rest
// moves to the front of `burst`. @return how many are left.
using TouchFunction = unsigned (*)(rte_mbuf** burst, unsigned count, QueueCounters& counters);

// @param verdict  tx swaps the addresses, beside what the level says
// @return null where nothing is to be touched: no frame is looked at, and runts pass like the rest
TouchFunction touch_function(Touch touch, Verdict verdict);

// Byte `index` of a frame, in whichever segment it lies; null: the frame ends before it.
uint8_t* byte_at(rte_mbuf* frame, uint32_t index);
// Swaps destination and source of a frame of at least 12 bytes, wherever its segments begin.
void swap_macs(rte_mbuf* frame);
// Writes destination and source of a frame of at least 12 bytes.
void write_macs(rte_mbuf* frame, const std::array<uint8_t, 12>& addresses);

}  // namespace nearpool
