// SPDX-License-Identifier: BSD-3-Clause
// The consumer's side: taking a queue over, following the node, leaving.
#include <rte_branch_prediction.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cstring>

#include "numa/current_node.hpp"
#include "page_arena/log.hpp"
#include "page_pool/queue_pool.hpp"
#include "page_pool/sift.hpp"
#include "page_pool/trace.hpp"

namespace nearpool {

// The poll that has something to do. Returns whether the nid changed.
bool QueuePool::poll(int node, bool follow) {
  const unsigned lcore = rte_lcore_id();
  const uint64_t key = poll_key(lcore, node);
  if (unlikely(dying())) return false;
  // A thread without an lcore id may poll, as long as no lcore does: it has no cache to look after.
  if (lcore >= RTE_MAX_LCORE && consumer_.load(std::memory_order_relaxed) != kNoConsumer) {
    return false;
  }
  if (node < 0 || node >= static_cast<int>(kMaxNodes)) {
    node = numa::current_node(numa::system_topology());
  }
  // Acquire: pairs with the release of set_flags() and set_quota(), whose values are used below.
  // Only looked at, unless there is something to see: a strict pool comes by in each poll.
  const uint32_t look = attention_.load(std::memory_order_relaxed) == 0
                            ? 0
                            : attention_.exchange(0, std::memory_order_acquire);
  if (lcore != consumer_.load(std::memory_order_relaxed) && lcore < RTE_MAX_LCORE) take_over(lcore);

  const uint32_t target = arena_->index_of(node);
  const bool wants_move = follow && target != nid();
  const bool moved = wants_move && move_to(target, lcore);
  // Takers look after the mode when they take; here, when the rules have changed.
  if (moved || look != 0) check_mode();
  if (moved || (look & kLookAtCache) != 0) sift_cache(lcore);
  if (has_chores()) {
    tick(lcore, holder_of(lcore), lcore_cache::of(mempool_, lcore));
  }
  // Calm: until something changes, a poll is one compare, and in strict mode a look for chores.
  // PAGE_POOL_ANY_NODE is looked up anew in each poll.
  const bool calm = wants_move == moved && key == poll_key(lcore, node);
  calm_key_.store(calm && !strict() ? key : kNeverCalm, std::memory_order_relaxed);
  strict_key_.store(calm ? key : kNeverCalm, std::memory_order_relaxed);
  return moved;
}

void QueuePool::take_over(unsigned lcore) {
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  // What this lcore had gathered as a returner has not been through the keep rule.
  if (cache != nullptr && cache->len != 0) {
    const uint32_t n = cache->len;
    cache->len = 0;
    put_as_other(cache->objs, n, lcore, cache);
  }
  // Acquire: pairs with leave() of the consumer before.
  const uint32_t before = consumer_.exchange(lcore, std::memory_order_acq_rel);
  if (before != kNoConsumer) {
    counters_.add(lcore, Counter::kTakeovers, 1);
    if (hardened_) report_takeover(lcore, before);
    // It may still return pages, and what it holds goes back with the next one. relax() looks after
    // it has opened a cache whether the queue is still its own.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (rte_mempool_cache* old = lcore_cache::of(mempool_, before)) lcore_cache::knock(old);
  }
  if (cache != nullptr && !hardened_) {
    lcore_cache::serve(cache, cache_size_, strict());
    // As in relax(): a taker that turned the pool strict meanwhile may have missed this lcore.
    check_mode();
  }
}

// Returns false if another thread is at the stash: the next poll tries again.
bool QueuePool::move_to(uint32_t node, unsigned lcore) {
  Claim claim(*this, holder_of(lcore));
  if (!claim) return false;
  trace::update_nid(id, name_, arena_->id_of(nid()), arena_->id_of(node));
  nid_.store(node, std::memory_order_relaxed);
  home_.store(&arena_->free_list(node), std::memory_order_relaxed);
  // Before the next holder of the claim drains the ring: it must not do so relaxed, on top of the
  // pages marked here.
  check_mode();
  // The stash and the ring are looked at a bounded piece per poll, since nothing leaves them unseen
  // in strict mode.
  set_unchecked(stash_length_.load(std::memory_order_relaxed));
  counters_.add(lcore, Counter::kNidUpdates, 1);
  return true;
}

// Gets reach the cache inline, so it is looked at as a whole, at once. Consumer.
void QueuePool::sift_cache(unsigned lcore) {
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  if (cache == nullptr || cache->len == 0 || !strict()) return;
  const uint32_t held = cache->len;
  uint32_t kept = 0;
  const uint32_t refused =
      sift(cache->objs, held, lcore, [cache, &kept](void* const* pages, uint32_t n) {
        std::memmove(&cache->objs[kept], pages, n * sizeof(void*));
        kept += n;
      });
  cache->len = kept;
  counters_.add(lcore, Counter::kFlushed, held);
  counters_.add(lcore, Counter::kAllocWaive, refused);
}

// Whether tick() would find something to do, relaxing the pool included. In each poll of a strict
// pool, so it reads few words, without a fence: what it misses the next poll sees.
bool QueuePool::has_chores() const {
  if (home_.load(std::memory_order_relaxed)->asking()) return true;
  if (likely(!strict())) return false;
  const uint32_t owned = owned_.load(std::memory_order_relaxed);
  if (unchecked() != 0 || ringed() != 0 || owned > quota_.load(std::memory_order_relaxed)) {
    return true;
  }
  if (hardened_) return false;
  // All that is owned is on the nid: nothing foreign is left.
  return (owned_pressure_.load(std::memory_order_relaxed) == 0 &&
          owned == owned_node_[nid()].load(std::memory_order_relaxed)) ||
         (flags() & kKeepAnything) != 0;
}

// A bounded piece of what a strict or asked pool has to do. `cache` is the caller's own if it is
// the consumer, else null.
void QueuePool::tick(unsigned lcore, uint32_t holder, rte_mempool_cache* cache) {
  Claim claim(*this, holder);
  if (!claim) return;
  if (strict()) {
    drain_ring(kPagesPerTick, lcore);
    settle(UINT32_MAX, kPagesPerTick, lcore);
  }
  const uint32_t surplus =
      home_.load(std::memory_order_relaxed)->asking() ? kPagesPerTick : over_quota();
  if (surplus != 0) give_surplus(std::min(surplus, kPagesPerTick), lcore, cache);
  if (strict()) relax(lcore);
}

// Gives up to `budget` pages that the pool can do without back to the arena: the coldest of the
// stash, then what the cache holds beyond the needs of a burst or two. Needs the claim.
void QueuePool::give_surplus(uint32_t budget, unsigned lcore, rte_mempool_cache* cache) {
  drain_ring(budget, lcore);
  const uint32_t length = stash_length_.load(std::memory_order_relaxed);
  const uint32_t n = std::min(budget, length);
  if (n != 0) {
    void* coldest[kPagesPerTick];
    std::memcpy(coldest, stash_, n * sizeof(void*));
    const uint32_t moved = std::min(n, length - n);
    std::memmove(stash_, stash_ + (length - moved), moved * sizeof(void*));
    stash_length_.store(length - n, std::memory_order_relaxed);
    // Unchecked pages were at the bottom, and checked ones may have come to lie among them.
    set_unchecked(std::min(unchecked(), length - n));
    counters_.add(lcore, Counter::kReleasedSurplus, n);
    release(coldest, n, lcore);
    budget -= n;
  }
  if (cache == nullptr || budget == 0 || cache->len <= kKeptWhenAsked) return;
  const uint32_t from_cache = std::min(budget, cache->len - kKeptWhenAsked);
  counters_.add(lcore, Counter::kReleasedSurplus, from_cache);
  // The bottom of the cache is its cold end.
  void* cold[kPagesPerTick];
  std::memcpy(cold, cache->objs, from_cache * sizeof(void*));
  std::memmove(&cache->objs[0], &cache->objs[from_cache],
               (cache->len - from_cache) * sizeof(void*));
  cache->len -= from_cache;
  release(cold, from_cache, lcore);
}

void QueuePool::leave() {
  const unsigned lcore = rte_lcore_id();
  if (lcore != consumer_.load(std::memory_order_relaxed)) return;
  if (rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore)) {
    const uint32_t n = cache->len;
    cache->len = 0;
    gather_returns(cache);
    // Not looked through here, however much there is: whoever takes next does it piece by piece.
    if (n != 0) push_to_stash(cache->objs, n, lcore, Seen::kNo);
  }
  calm_key_.store(kNeverCalm, std::memory_order_relaxed);
  strict_key_.store(kNeverCalm, std::memory_order_relaxed);
  // Release: pairs with take_over() of the next consumer, which finds all as we leave it.
  consumer_.store(kNoConsumer, std::memory_order_release);
}

}  // namespace nearpool
