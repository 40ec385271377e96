// SPDX-License-Identifier: BSD-3-Clause
#include "control/sizing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nearpool {
namespace {

// The default high watermark is 1/16 of a node: with that much more, full rings leave it untouched.
constexpr uint32_t kHighShare = 16;

uint32_t round_up(uint32_t value, uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Sizing size_pages(const SizingInput& input) {
  Sizing sizing;
  uint32_t longest = 0;
  for (const PortShape& port : input.ports) {
    sizing.rx_rings += port.rxq * port.rxd;
    sizing.tx_rings += port.txq * port.txd;
    sizing.queues += port.rxq;
    longest = std::max(longest, port.rxd);
  }
  // A cache runs over by half before it is flushed.
  const uint32_t cache = input.cache + input.cache / 2;
  const uint32_t elsewhere = input.stock ? cache : input.bulk;
  const uint32_t per_queue =
      2 * input.burst + cache + input.lcores * elsewhere + (input.handoff ? kHandoffRing : 0);
  sizing.in_hand = sizing.queues * per_queue;
  sizing.total = sizing.rx_rings + sizing.tx_rings + sizing.in_hand;
  sizing.queue = longest + sizing.tx_rings + per_queue;
  sizing.arena = round_up(sizing.total + sizing.total / (kHighShare - 1) + 1, 64);
  return sizing;
}

uint32_t default_quota(const Sizing& sizing, uint32_t pages) {
  return std::max(sizing.queue, pages / std::max(1u, sizing.queues));
}

std::string sizing_warning(const Sizing& sizing, uint32_t pages) {
  if (pages >= sizing.total) return {};
  return fmt::format(
      "{} pages per node are fewer than the {} that can be in use at once ({} in RX rings, {} in "
      "TX "
      "rings, {} in bursts, caches and hand-overs): frames may be lost for want of pages; give "
      "--total-num-pages {}, or lower --rxd, --txd, --rxq or --txq",
      pages, sizing.total, sizing.rx_rings, sizing.tx_rings, sizing.in_hand, sizing.arena);
}

}  // namespace nearpool
