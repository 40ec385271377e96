// SPDX-License-Identifier: BSD-3-Clause
// What one lcore polls and where it sends. The control thread builds a plan, publishes it, and
// never changes it afterwards; the lcore reads the pointer once per poll cycle.
#pragma once

#include <rte_ring.h>

#include <array>
#include <cstdint>
#include <vector>

#include "datapath/counters.hpp"
#include "datapath/touch.hpp"
#include "datapath/tx_queue.hpp"

struct page_pool;

namespace nearpool {

// Addresses that frames to a port are given (--eth-peer): destination, then source.
struct MacRewrite {
  bool on = false;
  std::array<uint8_t, 12> addresses{};
};

// An RX queue, as seen by the lcore that polls it.
struct PolledQueue {
  uint16_t port = 0;
  uint16_t queue = 0;
  page_pool* pool = nullptr;    // null: a stock mempool, which follows nobody
  TxQueue* out = nullptr;       // null: no route, frames are dropped and counted
  rte_ring* handoff = nullptr;  // redirect-cpu: the ring to the lcore that transmits
  QueueCounters* counters = nullptr;
  bool checksums = false;  // frames may come without theirs
  MacRewrite rewrite;
};

// Frames of one RX queue that another lcore polled and this one transmits.
struct HandedQueue {
  rte_ring* ring = nullptr;
  TxQueue* out = nullptr;
  QueueCounters* counters = nullptr;  // forwarded and its drops, of this lcore
  bool checksums = false;             // frames may come without theirs
  MacRewrite rewrite;
};

// Takes the burst over: every frame is sent, handed on or freed, and counted.
using VerdictFunction = void (*)(const PolledQueue& queue, rte_mbuf** burst, unsigned count);

struct Plan {
  std::vector<PolledQueue> polled;
  std::vector<HandedQueue> handed;
  std::vector<TxQueue*> tx_queues;        // that this lcore may send on
  std::vector<page_pool*> foreign_pools;  // whose pages this lcore may free without polling them
  TouchFunction touch = nullptr;          // null: frames are not looked at
  VerdictFunction verdict = nullptr;
  uint16_t burst = 32;
  uint64_t reap_cycles = 0;  // TSC cycles between two looks at idle TX queues

  // A lcore without queues still lets go of what its TX queues hold.
  bool empty() const { return polled.empty() && handed.empty() && tx_queues.empty(); }
};

constexpr uint16_t kMaxBurst = 512;

}  // namespace nearpool
