// SPDX-License-Identifier: BSD-3-Clause
// How many pages rings, bursts and caches can hold at once: arithmetic only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace nearpool {

struct PortShape {
  uint32_t rxq = 1, rxd = 1024;  // RX queues and descriptors of each
  uint32_t txq = 1, txd = 1024;  // TX queues and descriptors of each
};

struct SizingInput {
  std::span<const PortShape> ports;
  uint32_t lcores = 1;  // forwarding lcores
  uint32_t burst = 32;
  uint32_t cache = 512;  // alloc cache of a pool
  uint32_t bulk = 64;    // returns a lcore gathers per pool
  bool handoff = false;  // redirect-cpu: a ring of kHandoffRing frames per RX queue
  bool stock = false;    // stock mempools: each lcore keeps a cache of each pool
};

// Frames that wait between the lcore that polls a queue and the one that transmits.
constexpr uint32_t kHandoffRing = 1024;

struct Sizing {
  uint32_t queues = 0;    // RX queues
  uint32_t rx_rings = 0;  // pages in all RX rings
  uint32_t tx_rings = 0;  // pages in all TX rings
  uint32_t in_hand = 0;   // bursts, caches, gathered returns, hand-over rings
  uint32_t total = 0;     // the sum: what an arena must have on the node all queues are on
  uint32_t queue = 0;     // most pages the largest queue can have out and at hand
  uint32_t arena = 0;     // total, and room above the high watermark
};

Sizing size_pages(const SizingInput& input);

// The quota of a pool if none is chosen, with `pages` on a node: what its queue can make use of,
// and what is there for each queue if that is more.
uint32_t default_quota(const Sizing& sizing, uint32_t pages);

// A warning with the numbers if `pages` per node are fewer than wanted, else empty.
std::string sizing_warning(const Sizing& sizing, uint32_t pages);

}  // namespace nearpool
