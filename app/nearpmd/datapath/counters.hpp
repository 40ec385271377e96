// SPDX-License-Identifier: BSD-3-Clause
// Counters of the data path: one writer at a time, any number of readers, a cache line of their
// own.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace nearpool {

// Only its owner adds; others read at any time. Relaxed: a counter publishes nothing but itself.
class Counter {
 public:
  void add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What became of the frames of one RX queue. received = forwarded + all the drops.
// Written by the lcore that polls the queue; a move hands the right to write on with the queue.
struct alignas(64) QueueCounters {
  Counter received;
  Counter forwarded;     // taken by a TX queue
  Counter verdict_drop;  // dropped because the verdict says so
  Counter runt;          // shorter than an Ethernet header, or than the driver sends
  Counter oversize;      // longer than the driver sends
  Counter tx_full;       // the TX queue took no more
  Counter no_route;      // the port to send to is stopped, detached, or there is none
  Counter handoff_full;  // the ring to the transmitting lcore was full
  Counter handed_off;    // given to another lcore, which counts what became of them
  Counter flushed;       // waited in the queue at a start, or a link's stop: thrown away
  Counter malformed;     // touch level parse-ip: headers that lie about their length; not dropped
  Counter bad_checksum;  // the device that received it says so; not dropped
  Counter bursts;        // non-empty bursts
  Counter busy_cycles;   // TSC cycles spent on non-empty bursts
};

// How a report names a counter, and whether frames in it are lost to their receiver.
struct QueueCounterName {
  Counter QueueCounters::*member;
  const char* name;
  bool drop;
};

inline constexpr std::array kQueueCounters = {
    QueueCounterName{&QueueCounters::received, "received", false},
    QueueCounterName{&QueueCounters::forwarded, "forwarded", false},
    QueueCounterName{&QueueCounters::handed_off, "handed-off", false},
    QueueCounterName{&QueueCounters::verdict_drop, "verdict-drop", true},
    QueueCounterName{&QueueCounters::runt, "runt", true},
    QueueCounterName{&QueueCounters::oversize, "oversize", true},
    QueueCounterName{&QueueCounters::tx_full, "tx-full", true},
    QueueCounterName{&QueueCounters::no_route, "no-route", true},
    QueueCounterName{&QueueCounters::handoff_full, "handoff-full", true},
    QueueCounterName{&QueueCounters::flushed, "flushed-at-start", false},
    QueueCounterName{&QueueCounters::malformed, "malformed-ip", false},
    QueueCounterName{&QueueCounters::bad_checksum, "bad-checksum", false},
    QueueCounterName{&QueueCounters::bursts, "bursts", false},
    QueueCounterName{&QueueCounters::busy_cycles, "busy-cycles", false},
};

// The counters of one or many queues at one moment, in the order of kQueueCounters.
struct QueueTotals {
  std::array<uint64_t, kQueueCounters.size()> values{};

  void add(const QueueCounters& counters) {
    for (size_t i = 0; i < values.size(); i++) {
      values[i] += (counters.*kQueueCounters[i].member).read();
    }
  }
  QueueTotals& operator+=(const QueueTotals& other) {
    for (size_t i = 0; i < values.size(); i++)
      values[i] += other.values[i];
    return *this;
  }
  QueueTotals& operator-=(const QueueTotals& other) {
    for (size_t i = 0; i < values.size(); i++)
      values[i] -= other.values[i];
    return *this;
  }
  uint64_t of(Counter QueueCounters::*member) const {
    for (size_t i = 0; i < values.size(); i++) {
      if (kQueueCounters[i].member == member) return values[i];
    }
    return 0;
  }
};

// Durations of some polls in a row, in powers of two of TSC cycles: bucket k holds those from 2^k
// to 2^(k+1) - 1. Each bounds the duration of the longest poll in it; a change of plan stands
// alone.
class PollHistogram {
 public:
  static constexpr unsigned kBuckets = 40;
  void add(uint64_t cycles) {
    const unsigned bit = static_cast<unsigned>(std::bit_width(cycles | 1)) - 1;
    buckets_[bit < kBuckets ? bit : kBuckets - 1].add(1);
  }
  uint64_t read(unsigned bucket) const { return buckets_[bucket].read(); }

 private:
  std::array<Counter, kBuckets> buckets_;
};

// Written by the lcore itself.
struct alignas(64) LcoreCounters {
  Counter polls;
  Counter busy_cycles;  // TSC cycles of polls that found something
  Counter idle_cycles;  // TSC cycles of polls that found nothing
  Counter reaps;        // idle TX queues looked at
  PollHistogram histogram;
  PollHistogram after_move;  // of these, the first ones with another plan or on another node
};

}  // namespace nearpool
