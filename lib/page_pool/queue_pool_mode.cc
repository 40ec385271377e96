// SPDX-License-Identifier: BSD-3-Clause
// Relaxed and strict mode: who may switch, and why no switch is lost.
//
// A pool turns strict when its count of refusable pages rises above zero, and relaxed when the
// count is zero again. Any thread that takes pages may cause the first; only the consumer does the
// second, since it opens its own cache. The two may cross:
//     taker:    count up;  fence;  strict = true, knock on the consumer's cache;  hand out
//     consumer: strict = false, open the cache;  fence;  look at the count, undo if above zero
// Both fences are sequentially consistent. If the consumer's comes first, the taker's stores come
// after the consumer's in the order of modification, and the pool is strict. If the taker's comes
// first, the consumer sees the count and undoes. So refusable pages are never handed out while the
// cache is open.
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "page_pool/queue_pool.hpp"

namespace nearpool {

KeepRule QueuePool::keep_rule() const {
  const uint32_t node = nid();
  const uint32_t f = flags();
  return {
      .arena = arena_,
      .local = arena_->range_of(node),
      .nid = node,
      .refuse_foreign = (f & PAGE_POOL_F_NO_FOREIGN_REJECT) == 0,
      // Pressure pages that come back are this pool's own, so its own count says whether any can.
      .refuse_pressure = (f & PAGE_POOL_F_NO_PRESSURE_REJECT) == 0 &&
                         owned_pressure_.load(std::memory_order_relaxed) != 0,
  };
}

uint32_t QueuePool::owned_foreign() const {
  const uint32_t here = nid();
  uint32_t foreign = 0;
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    // Acquire: pairs with release(): a count that is down means pages that are home.
    if (node != here) foreign += owned_node_[node].load(std::memory_order_acquire);
  }
  return foreign;
}

uint32_t QueuePool::over_quota() const {
  const uint32_t owned = owned_.load(std::memory_order_relaxed);
  const uint32_t quota = quota_.load(std::memory_order_relaxed);
  return owned > quota ? owned - quota : 0;
}

uint32_t QueuePool::to_refuse() const {
  if constexpr (!kKeepRuleBuiltIn) return 0;
  const uint32_t f = flags();
  uint32_t pages = over_quota();
  if ((f & PAGE_POOL_F_NO_FOREIGN_REJECT) == 0) pages += owned_foreign();
  if ((f & PAGE_POOL_F_NO_PRESSURE_REJECT) == 0) {
    pages += owned_pressure_.load(std::memory_order_acquire);
  }
  return pages;
}

// After the counts, the nid or the flags have changed. Any thread.
void QueuePool::check_mode() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (to_refuse() != 0) become_strict();
}

void QueuePool::become_strict() {
  if (!strict_.exchange(true, std::memory_order_relaxed)) {
    strict_since_.store(rte_get_tsc_cycles(), std::memory_order_relaxed);
    // Release: pairs with the acquire in poll(), which then sees that the pool is strict, and that
    // this consumer is not calm any more.
    attention_.fetch_or(kLookAtMode, std::memory_order_release);
  }
  if (rte_mempool_cache* cache =
          lcore_cache::of(mempool_, consumer_.load(std::memory_order_relaxed))) {
    lcore_cache::knock(cache);
  }
}

// Consumer, or holder of the claim while there is no consumer.
void QueuePool::relax(unsigned lcore) {
  if (hardened_ || to_refuse() != 0) return;
  const bool was_strict = strict_.exchange(false, std::memory_order_relaxed);
  rte_mempool_cache* cache = lcore == consumer_.load(std::memory_order_relaxed)
                                 ? lcore_cache::of(mempool_, lcore)
                                 : nullptr;
  if (cache != nullptr) lcore_cache::serve(cache, cache_size_, false);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Pairs with the fence in take_over(): either we see that the queue is another's, or its knock
  // stays.
  if (cache != nullptr && lcore != consumer_.load(std::memory_order_relaxed)) {
    lcore_cache::knock(cache);
  }
  if (to_refuse() != 0) {
    become_strict();
    return;
  }
  if (was_strict) {
    counters_.add(lcore, Counter::kStrictCycles,
                  rte_get_tsc_cycles() - strict_since_.load(std::memory_order_relaxed));
  }
}

}  // namespace nearpool
