// SPDX-License-Identifier: BSD-3-Clause
// Taking and returning pages of a shared pool, and its mode.
#include "page_pool/shared_pool.hpp"

#include <rte_branch_prediction.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cerrno>

#include "numa/current_node.hpp"
#include "page_arena/log.hpp"
#include "page_pool/trace.hpp"

namespace nearpool {

// ---- taking -----------------------------------------------------------------------------------

int SharedPool::dequeue(void** pages, unsigned n) {
  const unsigned lcore = rte_lcore_id();
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  const uint32_t node = follow(lcore, cache);

  PageArena::Taken taken;
  if (lcore_cache::is_own_table(cache, pages)) {
    // A refill asks for more than the caller wants, over pages that must stay if it fails: all from
    // this node's list or nothing, and then the caller comes again for what it needs.
    if (arena_->free_list(node).take(pages, n, true).pages != n) return -ENOBUFS;
    taken.pages = n;
    taken.by_node[node] = n;
  } else {
    taken = arena_->take(node, pages, n, {.reserve = true, .fallback = true});
    if (unlikely(taken.pages != n)) {
      counters_.add(lcore, Counter::kAllocFailed, 1);
      return -ENOBUFS;
    }
    if (taken.fallback != 0) counters_.add(lcore, Counter::kAllocFallback, taken.fallback);
  }
  counters_.add(lcore, Counter::kAllocSlow, n);

  // The lists are down. If that brings a second node into play, all caches close before any of
  // these pages is handed out; see become_mixed() for the fence's partner.
  if (has_several_nodes()) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint32_t mode = mode_.load(std::memory_order_relaxed);
    if (mode != kMixed && taken.by_node[mode] != n) become_mixed();
  }
  if (unlikely(hardened_)) {
    mark_out(pages, n);
    return 0;
  }
  if (cache == nullptr) return 0;
  Lcore& state = lcores_[lcore];
  state.taken += n;
  // size may not change here; where it is set already, the threshold may.
  if (cache->size != 0) {
    state.serving.store(true, std::memory_order_relaxed);
    open_or_close(node, cache);
  }
  return 0;
}

// The node of the calling thread. A consumer whose lcore has moved sifts its cache.
uint32_t SharedPool::follow(unsigned lcore, rte_mempool_cache* cache) {
  const uint32_t node =
      has_several_nodes() ? arena_->index_of(numa::current_node(numa::system_topology())) : 0;
  if (lcore >= RTE_MAX_LCORE) return node;
  Lcore& state = lcores_[lcore];
  const uint32_t before = state.nid.load(std::memory_order_relaxed);
  if (likely(before == node)) return node;
  trace::update_nid(id, mempool_->name, arena_->id_of(before), arena_->id_of(node));
  state.nid.store(node, std::memory_order_relaxed);
  counters_.add(lcore, Counter::kNidUpdates, 1);
  if (cache == nullptr || !refuse_foreign_) return node;
  uint32_t kept = 0;
  const uint32_t held = cache->len;
  for (uint32_t i = 0; i < held; ++i) {
    void* page = cache->objs[i];
    if (arena_->node_of(page) == node) {
      cache->objs[kept++] = page;
    } else {
      give(&page, 1);
    }
  }
  cache->len = kept;
  counters_.add(lcore, Counter::kFlushed, held);
  counters_.add(lcore, Counter::kForeignRefused, held - kept);
  return node;
}

// ---- returning --------------------------------------------------------------------------------

void SharedPool::enqueue(void* const* pages, unsigned n) {
  if (unlikely(hardened_ || populating_)) {
    enqueue_checked(pages, n);
    return;
  }
  const unsigned lcore = rte_lcore_id();
  rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
  counters_.add(lcore, n == 1 ? Counter::kReturnsSingle : Counter::kReturnsBulk, 1);
  if (cache == nullptr) {
    if (lcore >= RTE_MAX_LCORE) counters_.add(lcore, Counter::kReturnsUnregistered, n);
    give(pages, n);
    return;
  }
  const bool own = lcore_cache::is_own_table(cache, pages);
  // A cache whose content is the table is about to be overwritten: it must not be sifted in place.
  const uint32_t node =
      own ? lcores_[lcore].nid.load(std::memory_order_relaxed) : follow(lcore, cache);
  Lcore& state = lcores_[lcore];
  if (unlikely(!state.serving.load(std::memory_order_relaxed)) && may_serve(state)) {
    cache->size = mempool_->cache_size;
    state.serving.store(true, std::memory_order_relaxed);
  }
  if (!state.serving.load(std::memory_order_relaxed)) {
    give(pages, n);
    return;
  }
  open_or_close(node, cache);
  const AddressRange& local = arena_->range_of(node);
  if (!refuse_foreign_ || likely(local.holds_all(pages, n))) {
    keep(pages, n, lcore, cache, own);
    return;
  }
  for (uint32_t done = 0; done < n;) {
    void* kept[kChunk];
    void* going[kChunk];
    const uint32_t step = std::min(n - done, kChunk);
    uint32_t nb_kept = 0;
    for (uint32_t i = 0; i < step; ++i) {
      void* page = pages[done + i];
      if (arena_->node_of(page) == node) {
        kept[nb_kept++] = page;
      } else {
        going[i - nb_kept] = page;
      }
    }
    if (nb_kept != 0) keep(kept, nb_kept, lcore, cache, own);
    give(going, step - nb_kept);
    counters_.add(lcore, Counter::kForeignRefused, step - nb_kept);
    if (nb_kept != step) {
      trace::foreign_reject(id, mempool_->name, step - nb_kept, arena_->id_of(node));
    }
    done += step;
  }
}

// A lcore that fills RX rings at start takes pages and must keep none. It cannot take more than
// there are without returning, so one that has taken twice as many is a consumer.
bool SharedPool::may_serve(const Lcore& state) const {
  return state.taken > 2 * uint64_t{mempool_->size};
}

void SharedPool::keep(void* const* pages, uint32_t n, unsigned lcore, rte_mempool_cache* cache,
                      bool own) {
  const uint32_t room = lcore_cache::room(cache->size);
  if (own || n > room) {
    give(pages, n);
    return;
  }
  counters_.add(lcore, Counter::kRecycleCached, n);
  if (cache->len + n > room) {
    // As the inline code does: all that is held goes, the newest stay.
    give(cache->objs, cache->len);
    cache->len = 0;
  }
  lcore_cache::push(cache, pages, n);
}

// To each page's own node.
void SharedPool::give(void* const* pages, uint32_t n) {
  if (n == 0) return;
  if (likely(!has_several_nodes())) {
    arena_->give(0, pages, n);
    return;
  }
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    if (arena_->range_of(node).holds_all(pages, n)) {
      arena_->give(node, pages, n);
      return;
    }
  }
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    void* batch[kChunk];
    uint32_t gathered = 0;
    for (uint32_t i = 0; i < n; ++i) {
      if (arena_->node_of(pages[i]) != node) continue;
      batch[gathered++] = pages[i];
      if (gathered == kChunk) {
        arena_->give(node, batch, gathered);
        gathered = 0;
      }
    }
    if (gathered != 0) arena_->give(node, batch, gathered);
  }
}

unsigned SharedPool::available() const {
  uint32_t pages = 0;
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    pages += arena_->free_list(node).free_pages();
  }
  return pages;
}

// ---- mode -------------------------------------------------------------------------------------

// Sets a consumer's own cache as the mode asks, and looks again: a taker may just have knocked.
void SharedPool::open_or_close(uint32_t node, rte_mempool_cache* cache) {
  const uint32_t open = lcore_cache::room(cache->size);
  const auto wanted = [&] {
    return !refuse_foreign_ || mode_.load(std::memory_order_relaxed) == node ? open : 0u;
  };
  if (lcore_cache::flush_threshold(cache) == wanted()) return;
  lcore_cache::set_flush_threshold(cache, wanted());
  // Pairs with the fence in become_mixed(): either we see kMixed, or its knock comes after our
  // store and stays.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (wanted() == 0) lcore_cache::set_flush_threshold(cache, 0);
}

void SharedPool::become_mixed() {
  mode_.store(kMixed, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!refuse_foreign_) return;
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    if (!lcores_[lcore].serving.load(std::memory_order_relaxed)) continue;
    if (rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore)) lcore_cache::knock(cache);
  }
}

// Whether all pages of other nodes are in their lists.
bool SharedPool::only_on(uint32_t node) const {
  for (uint32_t other = 0; other < arena_->nb_nodes(); ++other) {
    if (other != node && arena_->free_list(other).free_pages() != arena_->pages_of(other)) {
      return false;
    }
  }
  return true;
}

void SharedPool::knock_and_settle() {
  if (hardened_) return;
  uint32_t common = kMixed;
  bool one_node = true;
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    const Lcore& state = lcores_[lcore];
    if (!state.serving.load(std::memory_order_relaxed)) continue;
    if (rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore)) lcore_cache::knock(cache);
    const uint32_t node = state.nid.load(std::memory_order_relaxed);
    one_node = one_node && (common == kMixed || common == node);
    common = node;
  }
  if (!one_node || common == kMixed || mode() != kMixed || !only_on(common)) return;
  mode_.store(common, std::memory_order_relaxed);
  // Pairs with the fence in dequeue(): a taker whose pages we do not see in the lists' counts sees
  // this mode, and sets kMixed before it hands them out.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!only_on(common)) become_mixed();
}

}  // namespace nearpool
