// SPDX-License-Identifier: BSD-3-Clause
// rte_mempool's own per-lcore cache as the pool's alloc cache, and as its bulk return.
//
// Drivers and programs reach that cache inline, without a call into the pool, so the pool steers it
// by the two numbers the inline code goes by. This file holds all that depends on how DPDK 22.11's
// inline code uses them (rte_mempool_do_generic_put() and _get()):
//   put of n    n > flushthresh: a driver call for the n;
//               len + n > flushthresh: a driver call for all len held (obj_table == objs), after
//               which the code itself sets len = n and stores the n;
//               else stored inline.
//   get of n    from the cache while it lasts, inline; then a driver call for size + what remains,
//               into objs, after which the code itself sets len = size; if that is refused, a
//               driver call for what remains, into the caller's table. Until one of them succeeds,
//               objs still holds pages: a refused call must not have written there.
// 26.07 flushes half a cache and ignores flushthresh: there no cache is used (dpdk_compat.hpp).
//
// Rules that follow:
//   - size never changes inside a dequeue: the inline code uses it afterwards;
//   - a driver call with obj_table == objs must not push into that cache;
//   - a cache is written by its own lcore alone. The one exception is knock().
#pragma once

#include <rte_config.h>
#include <rte_mempool.h>

#include <cstdint>
#include <cstring>

#include "dpdk_compat.hpp"

namespace nearpool::lcore_cache {

inline constexpr uint32_t kMaxSize = RTE_MEMPOOL_CACHE_MAX_SIZE;

// The cache of a lcore, or null: the mempool has none, the thread has no lcore id, or caches are
// not to be steered.
inline rte_mempool_cache* of(rte_mempool* mempool, unsigned lcore) {
  if constexpr (!compat::kCachesGoByThreshold) return nullptr;
  return mempool->cache_size == 0 || lcore >= RTE_MAX_LCORE ? nullptr
                                                            : &mempool->local_cache[lcore];
}

// Other lcores may store 0 there, see knock(); so the owner stores atomically as well. Relaxed: the
// callers order it where that matters.
inline void set_flush_threshold(rte_mempool_cache* cache, uint32_t threshold) {
  __atomic_store_n(compat::threshold_of(cache), threshold, __ATOMIC_RELAXED);
}

inline uint32_t flush_threshold(const rte_mempool_cache* cache) {
  return __atomic_load_n(compat::threshold_of(cache), __ATOMIC_RELAXED);
}

// Most pages a serving cache of that size holds.
inline uint32_t room(uint32_t size) {
  return size + size / 2;
}

// The cache serves gets. Relaxed: puts stay inline as well. Strict: each put is a driver call.
inline void serve(rte_mempool_cache* cache, uint32_t size, bool strict) {
  cache->size = size;
  set_flush_threshold(cache, strict ? 0 : room(size));
}

// The cache gathers up to `bulk` returns and serves nothing; 0: each put is a driver call.
inline void gather(rte_mempool_cache* cache, uint32_t bulk) {
  cache->size = 0;
  set_flush_threshold(cache, bulk);
}

// Makes the next put of that lcore a driver call. Any thread: one word, and if the owner stores
// there at the same time, one of the two stays, which is why whoever sets a threshold looks again
// afterwards whether it still may. The owner's inline code reads the word plainly, so
// ThreadSanitizer is told not to look: on every machine DPDK knows, an aligned word is read whole.
__attribute__((no_sanitize("thread"))) inline void knock(rte_mempool_cache* cache) {
  __atomic_store_n(compat::threshold_of(cache), 0, __ATOMIC_RELAXED);
}

// Whether a driver call moves the cache's own content.
inline bool is_own_table(const rte_mempool_cache* cache, void* const* table) {
  return cache != nullptr && table == &cache->objs[0];
}

inline void push(rte_mempool_cache* cache, void* const* pages, uint32_t n) {
  void** top = &cache->objs[cache->len];
  // Single returns are as frequent as bulks: no call for them.
  if (n == 1) {
    *top = *pages;
  } else {
    std::memcpy(top, pages, n * sizeof(void*));
  }
  cache->len += n;
}

// Pages in the caches of all lcores; exact while workers stand still. The owners' inline code
// writes the lengths plainly; see knock().
__attribute__((no_sanitize("thread"))) inline uint32_t pages_in_all(const rte_mempool* mempool) {
  if (mempool->cache_size == 0) return 0;
  uint32_t pages = 0;
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    pages += __atomic_load_n(&mempool->local_cache[lcore].len, __ATOMIC_RELAXED);
  }
  return pages;
}

}  // namespace nearpool::lcore_cache
