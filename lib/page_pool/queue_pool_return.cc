// SPDX-License-Identifier: BSD-3-Clause
// Returning pages: what the mempool ops call.
#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "page_pool/queue_pool.hpp"
#include "page_pool/sift.hpp"

namespace nearpool {

// The keep rule and the way into the cache in one pass, for a bulk of which nothing is to be
// refused and that fits. Returns false, and has kept nothing, if it is not one.
inline bool QueuePool::keep_if_all_local(void* const* pages, uint32_t n, rte_mempool_cache* cache) {
  const uint32_t held = cache->len;
  if (unlikely(held + n > lcore_cache::room(cache->size) ||
               lcore_cache::is_own_table(cache, pages) ||
               owned_.load(std::memory_order_relaxed) > quota_.load(std::memory_order_relaxed) ||
               owned_pressure_.load(std::memory_order_relaxed) != 0)) {
    return false;
  }
  const AddressRange& local = arena_->range_of(nid());
  void** top = &cache->objs[held];
  if (n == 1) {
    if (unlikely(!local.holds(*pages))) return false;
    *top = *pages;
  } else if (unlikely(!checked_copy_(top, pages, n, local))) {
    return false;
  }
  cache->len = held + n;
  return true;
}

void QueuePool::enqueue(void* const* pages, unsigned n) {
  const unsigned lcore = rte_lcore_id();
  const bool consumes = lcore == consumer_.load(std::memory_order_relaxed);
  // Strict, and each put is a call: the shortest way for what is most often to be done.
  if (consumes && strict() && strict_caches_ != nullptr &&
      keep_if_all_local(pages, n, &strict_caches_[lcore])) {
    counters_.add_own(lcore, n == 1 ? Counter::kReturnsSingle : Counter::kReturnsBulk, 1);
    counters_.add_own(lcore, Counter::kRecycleCached, n);
    return;
  }
  if (unlikely(hardened_)) {
    enqueue_hardened(pages, n);
    return;
  }
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  counters_.add(lcore, n == 1 ? Counter::kReturnsSingle : Counter::kReturnsBulk, 1);
  if (consumes) {
    put_as_consumer(pages, n, lcore, cache);
  } else {
    put_as_other(pages, n, lcore, cache);
  }
}

void QueuePool::put_as_consumer(void* const* pages, uint32_t n, unsigned lcore,
                                rte_mempool_cache* cache) {
  rte_mempool_cache* into = lcore_cache::is_own_table(cache, pages) ? nullptr : cache;
  if (likely(!strict())) {
    // A knock that came with a strict mode already over: let puts be inline again.
    if (cache != nullptr && lcore_cache::flush_threshold(cache) == 0) relax(lcore);
    keep_local(pages, n, lcore, into);
    return;
  }
  // The rules changed, and what is cached may not be pushed on unseen.
  if (unlikely((attention_.load(std::memory_order_acquire) & kLookAtCache) != 0 &&
               into != nullptr)) {
    attention_.fetch_and(~kLookAtCache, std::memory_order_relaxed);
    sift_cache(lcore);
  }
  const uint32_t refused = sift(pages, n, lcore, [&](void* const* kept, uint32_t count) {
    keep_local(kept, count, lcore, into);
  });
  if (refused != 0) relax(lcore);
}

void QueuePool::keep_local(void* const* pages, uint32_t n, unsigned lcore,
                           rte_mempool_cache* cache) {
  if (cache != nullptr) {
    const uint32_t room = lcore_cache::room(cache->size);
    if (likely(n <= room)) {
      if (unlikely(cache->len + n > room)) {
        // As the inline code does: all that is held goes, the newest stay.
        push_to_stash(cache->objs, cache->len, lcore);
        cache->len = 0;
      }
      lcore_cache::push(cache, pages, n);
      counters_.add(lcore, Counter::kRecycleCached, n);
      return;
    }
  }
  const uint32_t stashed = push_to_stash(pages, n, lcore);
  counters_.add(lcore, Counter::kRecycleCached, stashed);
}

// Returns how many went to the stash. What it has no room for goes home; if another thread is at
// it, all go to the ring.
uint32_t QueuePool::push_to_stash(void* const* pages, uint32_t n, unsigned lcore, Seen seen) {
  uint32_t fits = 0;
  {
    Claim claim(*this, holder_of(lcore));
    if (unlikely(!claim)) {
      push_to_ring(pages, n, lcore);
      return 0;
    }
    const uint32_t top = stash_length_.load(std::memory_order_relaxed);
    fits = std::min(n, stash_limit_ - std::min(top, stash_limit_));
    std::memcpy(stash_ + top, pages, fits * sizeof(void*));
    stash_length_.store(top + fits, std::memory_order_relaxed);
    // The mark knows no pages above seen ones, so it covers those too.
    if (seen == Seen::kNo && strict()) set_unchecked(top + fits);
  }
  if (unlikely(fits != n)) {
    counters_.add(lcore, Counter::kReleasedSurplus, n - fits);
    release(pages + fits, n - fits, lcore);
  }
  return fits;
}

void QueuePool::put_as_other(void* const* pages, uint32_t n, unsigned lcore,
                             rte_mempool_cache* cache) {
  if (lcore >= RTE_MAX_LCORE) counters_.add(lcore, Counter::kReturnsUnregistered, n);
  if (cache != nullptr) {
    const bool own_table = lcore_cache::is_own_table(cache, pages);
    // What this lcore still holds goes back now if the queue was taken over from it, or the pool
    // ends.
    if (unlikely(!own_table && cache->len != 0 && (cache->size != 0 || dying()))) {
      const uint32_t held = cache->len;
      cache->len = 0;
      put_as_other(cache->objs, held, lcore, cache);
    } else {
      gather_returns(cache);
    }
  }
  if (likely(!strict())) {
    push_to_ring(pages, n, lcore);
  } else {
    // The nid may change meanwhile; the consumer looks again when it drains the ring.
    sift(pages, n, lcore,
         [&](void* const* kept, uint32_t count) { push_to_ring(kept, count, lcore); });
  }
}

// Lets a lcore that is not the consumer gather a bulk, if it may.
void QueuePool::gather_returns(rte_mempool_cache* cache) {
  for (;;) {
    const uint32_t limit = gather_limit();
    if (likely(cache->size == 0 && lcore_cache::flush_threshold(cache) == limit)) return;
    lcore_cache::gather(cache, limit);
    // Pairs with the fence in start_dying(): either we see that the pool ends, or the knock stays.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void QueuePool::push_to_ring(void* const* pages, uint32_t n, unsigned lcore) {
  if (unlikely(dying())) {
    release(pages, n, lcore);
    return;
  }
  // Counted before the pages are published: the last of them may be the one the pool's end waits
  // for, and nothing of the pool is touched after it.
  counters_.add(lcore, Counter::kRecycleRing, n);
  const uint32_t put = rte_ring_mp_enqueue_burst(ring_, pages, n, nullptr);
  if (likely(put == n)) return;
  counters_.add(lcore, Counter::kRecycleRing, -static_cast<uint64_t>(n - put));
  counters_.add(lcore, Counter::kRecycleRingFull, n - put);
  release(pages + put, n - put, lcore);
}

unsigned QueuePool::available() const {
  // Chosen so that rte_mempool_in_use_count() is the number of pages in flight.
  const int64_t held =
      static_cast<int64_t>(stash_length_.load(std::memory_order_relaxed)) + ringed();
  const int64_t borrowed = owned_.load(std::memory_order_relaxed);
  return static_cast<unsigned>(std::max<int64_t>(0, mempool_->size - borrowed + held));
}

void QueuePool::flush_returns() {
  const unsigned lcore = rte_lcore_id();
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  if (cache == nullptr || cache->len == 0 || lcore == consumer_.load(std::memory_order_relaxed)) {
    return;
  }
  const uint32_t n = cache->len;
  cache->len = 0;  // first, so that nothing of the pool is touched after the last page
  enqueue(cache->objs, n);
}

}  // namespace nearpool
