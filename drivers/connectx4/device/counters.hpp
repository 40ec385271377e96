// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "hot_memory.hpp"

namespace nearpool::connectx4 {

// Written by one thread, read by any: no read-modify-write instruction is needed.
class Counter {
 public:
  void add(uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};  // a count by itself: orders nothing
};

struct TrafficCounters {
  Counter unicast_frames;
  Counter unicast_bytes;
  Counter multicast_frames;
  Counter multicast_bytes;
  Counter broadcast_frames;
  Counter broadcast_bytes;

  uint64_t frames() const {
    return unicast_frames.value() + multicast_frames.value() + broadcast_frames.value();
  }
  uint64_t bytes() const {
    return unicast_bytes.value() + multicast_bytes.value() + broadcast_bytes.value();
  }
};

// Frames of one batch by kind of destination, added to the counters once.
struct TrafficTally {
  uint64_t frames[3] = {};
  uint64_t bytes[3] = {};

  void count(const uint8_t* destination, uint32_t length) {
    uint32_t kind = destination[0] & 1;
    if (kind != 0) {
      uint32_t all = 0xff;
      for (uint32_t i = 0; i < 6; ++i)
        all &= destination[i];
      if (all == 0xff) kind = 2;
    }
    ++frames[kind];
    bytes[kind] += length;
  }
  void add_to(TrafficCounters& counters) const {
    counters.unicast_frames.add(frames[0]);
    counters.unicast_bytes.add(bytes[0]);
    if ((frames[1] | frames[2]) == 0) return;
    counters.multicast_frames.add(frames[1]);
    counters.multicast_bytes.add(bytes[1]);
    counters.broadcast_frames.add(frames[2]);
    counters.broadcast_bytes.add(bytes[2]);
  }
};

// Of a port. The two sides may be written by two threads, and so do not share a line.
struct PortCounters {
  // The thread that delivers to the port.
  alignas(kCacheLine) TrafficCounters rx;  // all that arrived
  Counter rx_out_of_buffer;
  Counter rx_oversize;
  Counter rx_discards;    // the queue is stopped, or the port's link is down
  Counter rx_missed;      // no rule
  Counter rx_flow_drops;  // a rule says drop
  Counter rx_wqe_errors;
  // The port's own thread.
  alignas(kCacheLine) TrafficCounters tx;
  Counter tx_errors;
  Counter tx_discards;  // the link is down
  Counter tx_lost;      // by the wire's loss option
};

}  // namespace nearpool::connectx4
