// SPDX-License-Identifier: BSD-3-Clause
// Since when each page is out, and which lcore has it: one word a page, beside the arena. Written
// by hardened pools that were asked to, which see every page that leaves or comes back; others have
// no such word and no code for it.
#include <rte_cycles.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cerrno>

#include "page_pool/queue_pool.hpp"

namespace nearpool {

namespace {

// 40 bits of time, 16 of the pool's id, 8 of the lcore. Never zero, which means "not out": no lcore
// is 0 in it.
constexpr unsigned kTimeShift = 20;  // TSC cycles; below half a millisecond
constexpr unsigned kNoLcore = 255;
static_assert(RTE_MAX_LCORE < kNoLcore);

struct Stamp {
  uint64_t tsc;
  uint32_t pool;
  int lcore;
};

uint64_t pack(uint64_t tsc, uint32_t pool, unsigned lcore) {
  const uint64_t low = lcore < RTE_MAX_LCORE ? lcore + 1 : kNoLcore;
  return (tsc >> kTimeShift) << 24 | uint64_t{pool & 0xffff} << 8 | low;
}

Stamp unpack(uint64_t word) {
  const auto low = static_cast<int>(word & 0xff);
  return {(word >> 24) << kTimeShift, static_cast<uint32_t>(word >> 8) & 0xffff,
          low == kNoLcore ? -1 : low - 1};
}

}  // namespace

// Relaxed: the word says nothing but itself, and whoever returns the page got it from us.
void QueuePool::stamp_out(const void* page, unsigned lcore) {
  arena_->stamp_of(page)->store(pack(rte_rdtsc(), id, lcore), std::memory_order_relaxed);
}

int QueuePool::walk_out(uint64_t older_than_ms,
                        const std::function<void(const page_pool_out&)>& visit) const {
  if (!leak_watch_) return -ENOTSUP;
  const uint64_t now = rte_rdtsc();
  const uint64_t cycles_per_ms = std::max<uint64_t>(1, rte_get_tsc_hz() / 1000);
  for (const std::atomic<uint64_t>& word : arena_->stamps()) {
    const uint64_t value = word.load(std::memory_order_relaxed);
    if (value == 0) continue;
    const Stamp stamp = unpack(value);
    if (stamp.pool != (id & 0xffff) || stamp.tsc > now) continue;
    const uint64_t age = (now - stamp.tsc) / cycles_per_ms;
    if (age > older_than_ms) visit({arena_->page_of_stamp(word), stamp.lcore, age});
  }
  return 0;
}

}  // namespace nearpool
