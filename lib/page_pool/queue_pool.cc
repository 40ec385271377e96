// SPDX-License-Identifier: BSD-3-Clause
// Taking and returning pages: what the mempool ops call.
#include "page_pool/queue_pool.hpp"

#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "page_pool/sift.hpp"

namespace nearpool {

QueuePool::Claim::Claim(QueuePool& pool, uint32_t holder) : pool_(pool) {
  retry(holder);
}

void QueuePool::Claim::retry(uint32_t holder) {
  for (uint32_t spins = 0; spins < kClaimSpins; ++spins) {
    uint32_t nobody = 0;
    // Acquire: pairs with Claim::release().
    if (pool_.claim_.compare_exchange_strong(nobody, holder, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
      held_ = true;
      return;
    }
    rte_pause();
  }
}

// ---- taking -----------------------------------------------------------------------------------

int QueuePool::dequeue(void** pages, unsigned n) {
  const unsigned lcore = rte_lcore_id();
  if (unlikely(dying())) return -ENOBUFS;
  // A refill asks for more than the caller wants: never strain for it. It also writes over a cache
  // that may still hold pages, so nothing may be written there unless all n are to be had.
  const bool refill = lcore_cache::is_own_table(lcore_cache::of(mempool_, lcore), pages);
  Claim claim(*this, holder_of(lcore));
  if (unlikely(!claim)) return take_beside(pages, n, lcore, refill);
  if (unlikely(!fill_stash(n, lcore, refill))) {
    if (!refill) counters_.add(lcore, Counter::kAllocFailed, 1);
    return -ENOBUFS;
  }
  const uint32_t left = stash_length_.load(std::memory_order_relaxed) - n;
  std::memcpy(pages, stash_ + left, n * sizeof(void*));
  stash_length_.store(left, std::memory_order_relaxed);
  claim.release();
  counters_.add(lcore, Counter::kAllocSlow, n);
  if (lcore != consumer_.load(std::memory_order_relaxed)) {
    counters_.add(lcore, Counter::kTakesOther, n);
  }
  if (unlikely(hardened_)) mark_out(pages, n);
  return 0;
}

// Makes the top n pages of the stash fit to be handed out: from the ring, then the stash, then the
// arena. Needs the claim.
bool QueuePool::fill_stash(uint32_t n, unsigned lcore, bool refill) {
  uint32_t drained = drain_ring(ripe_pages(n), lcore);
  uint32_t ready = settle(n, kPagesPerTick, lcore);
  if (unlikely(ready < n && !may_grow(n - ready))) {
    drained += drain_ring(std::max(n, kDrain), lcore);
    ready = settle(n, kPagesPerTick, lcore);
  }
  if (drained != 0) {
    counters_.add(lcore, Counter::kAllocRefill, 1);
  } else if (stash_length_.load(std::memory_order_relaxed) == 0) {
    counters_.add(lcore, Counter::kAllocEmpty, 1);
  }
  if (likely(ready >= n)) return true;

  // A refill that cannot be had in full is not begun: the caller comes again for what it needs.
  if (refill && arena_->free_list(nid()).free_pages() < n - ready) return false;
  const PageArena::TakeLimits limits{.reserve = !refill, .fallback = !refill};
  if (likely(pull(n, ready, lcore, limits))) return true;
  if (refill) return false;
  // Before saying that there are none, look at every page there is: what goes home now may be had
  // again.
  while (drain_ring(kDrain, lcore) != 0) {}
  return pull(n, settle(n, UINT32_MAX, lcore), lcore, limits);
}

// How many pages of the ring to drain for a take of n. The last to come back are left to rest: they
// are in the caches of the lcore that returned them, which is writing to that part of the ring, and
// taking them from under its hands costs both lcores more than older pages do.
uint32_t QueuePool::ripe_pages(uint32_t n) const {
  const uint32_t most = std::max(n, kDrain);
  if (resting_ == 0 || strict()) return most;
  const uint32_t held = ringed();
  return held <= resting_ ? 0 : std::min(most, held - resting_);
}

// Whether the pool may own n pages more without anyone missing them.
bool QueuePool::may_grow(uint32_t n) const {
  const FreeList& home = *home_.load(std::memory_order_relaxed);
  return resting_ != 0 && !home.asking() && home.free_pages() >= home.watermarks().low + n &&
         owned_.load(std::memory_order_relaxed) + n <= quota_.load(std::memory_order_relaxed);
}

// Takes what is missing of n when `ready` are good from the arena onto the stash, or nothing. Needs
// the claim.
bool QueuePool::pull(uint32_t n, uint32_t ready, unsigned lcore, PageArena::TakeLimits limits) {
  if (ready >= n) return true;
  const uint32_t held = stash_length_.load(std::memory_order_relaxed);
  if (unlikely(n - ready > stash_capacity_ - held)) return false;
  if (!take_from_arena(stash_ + held, n - ready, lcore, limits)) return false;
  stash_length_.store(held + n - ready, std::memory_order_relaxed);
  return true;
}

// Moves up to `most` returned pages from the ring to the stash, through the keep rule if strict.
// Returns how many left the ring. Needs the claim.
uint32_t QueuePool::drain_ring(uint32_t most, unsigned lcore) {
  const uint32_t held = stash_length_.load(std::memory_order_relaxed);
  most = std::min(most, stash_capacity_ - held);
  if (likely(!strict())) {
    const uint32_t got = rte_ring_sc_dequeue_burst(ring_, stash_ + held, most, nullptr);
    stash_length_.store(held + got, std::memory_order_relaxed);
    return got;
  }
  uint32_t drained = 0;
  while (drained < most) {
    void* pages[kChunk];
    const uint32_t got =
        rte_ring_sc_dequeue_burst(ring_, pages, std::min(most - drained, kChunk), nullptr);
    if (got == 0) break;
    drained += got;
    const uint32_t refused = sift(pages, got, lcore, [this](void* const* kept, uint32_t n) {
      const uint32_t top = stash_length_.load(std::memory_order_relaxed);
      std::memcpy(stash_ + top, kept, n * sizeof(void*));
      stash_length_.store(top + n, std::memory_order_relaxed);
    });
    counters_.add(lcore, Counter::kAllocWaive, refused);
  }
  return drained;
}

// Looks at up to `budget` unchecked pages of the stash, from the top of them down, until `wanted`
// pages at the top are good. Returns how many good ones are at the top. Needs the claim.
uint32_t QueuePool::settle(uint32_t wanted, uint32_t budget, unsigned lcore) {
  uint32_t length = stash_length_.load(std::memory_order_relaxed);
  if (likely(!strict())) return length;
  uint32_t unseen = std::min(unchecked(), length);
  while (unseen != 0 && length - unseen < wanted && budget != 0) {
    const uint32_t n = std::min({unseen, budget, kChunk});
    const uint32_t bottom = unseen - n;
    budget -= n;
    // Close the gap with pages from the top, which keeps the move short.
    void* pages[kChunk];
    std::memcpy(pages, stash_ + bottom, n * sizeof(void*));
    uint32_t place = bottom;
    const uint32_t refused =
        sift(pages, n, lcore, [this, &place](void* const* kept, uint32_t count) {
          std::memcpy(stash_ + place, kept, count * sizeof(void*));
          place += count;
        });
    const uint32_t moved = std::min(refused, length - unseen);
    std::memmove(stash_ + place, stash_ + (length - moved), moved * sizeof(void*));
    length -= refused;
    unseen = bottom;
    stash_length_.store(length, std::memory_order_relaxed);
    counters_.add(lcore, Counter::kAllocWaive, refused);
    counters_.add(lcore, Counter::kFlushed, n);
  }
  set_unchecked(unseen);
  return length - unseen;
}

// Another thread is at the stash: take from the arena, past it.
int QueuePool::take_beside(void** pages, unsigned n, unsigned lcore, bool refill) {
  if (refill) return -ENOBUFS;  // the caller comes again for what it really needs
  if (!take_from_arena(pages, n, lcore, {.reserve = true, .fallback = true})) {
    counters_.add(lcore, Counter::kAllocFailed, 1);
    return -ENOBUFS;
  }
  counters_.add(lcore, Counter::kAllocSlow, n);
  counters_.add(lcore, Counter::kTakesOther, n);
  if (unlikely(hardened_)) mark_out(pages, n);
  return 0;
}

// All n or none, and then nothing is written: a caller's table may be a cache of its own, whose
// content stays if the call fails.
bool QueuePool::take_from_arena(void** pages, uint32_t n, unsigned lcore,
                                PageArena::TakeLimits limits) {
  // Reserve room under the quota first, so that threads side by side never exceed it. Relaxed: the
  // number guards nothing but itself.
  const uint32_t quota = quota_.load(std::memory_order_relaxed);
  uint32_t owned = owned_.load(std::memory_order_relaxed);
  do {
    if (owned > quota || n > quota - owned) {
      counters_.add(lcore, Counter::kQuotaRefused, 1);
      return false;
    }
  } while (!owned_.compare_exchange_weak(owned, owned + n, std::memory_order_relaxed));

  const PageArena::Taken taken = arena_->take(nid(), pages, n, limits);
  if (taken.pages != n) {
    owned_.fetch_sub(n, std::memory_order_relaxed);
    return false;
  }
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    if (taken.by_node[node] != 0) {
      owned_node_[node].fetch_add(taken.by_node[node], std::memory_order_relaxed);
    }
  }
  if (taken.pressure != 0) {
    owned_pressure_.fetch_add(taken.pressure, std::memory_order_relaxed);
    counters_.add(lcore, Counter::kAllocPressure, taken.pressure);
  }
  counters_.add(lcore, Counter::kAllocArena, n);
  counters_.add(lcore, Counter::kAllocFallback, taken.fallback);
  adopt(pages, n);
  if (!strict()) check_mode();
  return true;
}

// Pages of the arena may have been another pool's, or nobody's yet.
void QueuePool::adopt(void* const* pages, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    rte_mempool_objhdr* header = rte_mempool_get_header(pages[i]);
    if (header->mp == mempool_) continue;
    const bool first_time = header->mp == nullptr;
    header->mp = mempool_;
    if (first_time) {
      rte_pktmbuf_init(mempool_, nullptr, pages[i], 0);
    } else {
      static_cast<rte_mbuf*>(pages[i])->pool = mempool_;
    }
  }
}

// ---- returning --------------------------------------------------------------------------------

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
uint32_t QueuePool::push_to_stash(void* const* pages, uint32_t n, unsigned lcore) {
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
