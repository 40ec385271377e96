// SPDX-License-Identifier: BSD-3-Clause
// Taking pages: what the mempool ops call.
#include "page_pool/queue_pool.hpp"

#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "page_pool/sift.hpp"
#include "page_pool/trace.hpp"

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
    keep_order(held, got);
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

// Pages leave the stash from its top: puts the `got` pages of the ring, which lie on `held` older
// ones, below those and the first to come back on top. So pages are handed out in the order in
// which they came back, which is that in which they were handed out before, and neighbours stay
// neighbours: a lcore that reads the frames is served by its prefetchers.
void QueuePool::keep_order(uint32_t held, uint32_t got) {
  if (got == 0) return;
  // More than that is far from where pages are taken soon: the new ones stay above it.
  const uint32_t older = held > kDrain ? 0 : held;
  void** const begin = stash_ + held - older;
  std::reverse(begin, begin + older + got);
  std::reverse(begin + got, begin + got + older);
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
  trace::state_hold(id, name_, n, arena_->id_of(nid()), owned + n);
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

}  // namespace nearpool
