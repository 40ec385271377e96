// SPDX-License-Identifier: BSD-3-Clause
// The pool's counters: one block of cache lines per lcore, so that each line has one writer.
#pragma once

#include <rte_config.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nearpool {

// Meaning and units: struct page_pool_stats in page_pool.h.
enum class Counter : uint8_t {
  kAllocSlow,
  kAllocArena,
  kAllocEmpty,
  kAllocRefill,
  kAllocWaive,
  kAllocFallback,
  kAllocPressure,
  kAllocFailed,
  kQuotaRefused,
  kRecycleCached,
  kRecycleRing,
  kRecycleRingFull,
  kReleased,
  kReleasedSurplus,
  kForeignRefused,
  kPressureRefused,
  kFlushed,
  kNidUpdates,
  kReturnsBulk,
  kReturnsSingle,
  kReturnsUnregistered,
  kTakesOther,
  kTakeovers,
  kMisrouted,
  kMisuse,
  kStrictCycles,
  kCount,
};

class Counters {
 public:
  // `lcore` is the caller's own, or any number from RTE_MAX_LCORE on for threads without one.
  // Relaxed: counters order nothing, and readers sum them while they move.
  void add(unsigned lcore, Counter counter, uint64_t n) {
    if (lcore < RTE_MAX_LCORE) {
      add_own(lcore, counter, n);
    } else {
      blocks_[RTE_MAX_LCORE].values[static_cast<std::size_t>(counter)].fetch_add(
          n, std::memory_order_relaxed);
    }
  }

  // The same, of a caller that has a lcore id.
  void add_own(unsigned lcore, Counter counter, uint64_t n) {
    std::atomic<uint64_t>& value = blocks_[lcore].values[static_cast<std::size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  uint64_t sum(Counter counter) const {
    uint64_t sum = 0;
    for (const Block& block : blocks_) {
      sum += block.values[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Block {
    std::array<std::atomic<uint64_t>, static_cast<std::size_t>(Counter::kCount)> values{};
  };
  std::array<Block, RTE_MAX_LCORE + 1> blocks_{};
};

}  // namespace nearpool
