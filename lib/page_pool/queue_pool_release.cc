// SPDX-License-Identifier: BSD-3-Clause
// The one way home: to the arena's free list of each page's own node.
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <algorithm>

#include "page_arena/log.hpp"
#include "page_pool/queue_pool.hpp"
#include "page_pool/registry.hpp"
#include "page_pool/trace.hpp"

namespace nearpool {

// The counts come down after the pages are home, owned_ last and once: nothing of the pool, and
// nothing of its arena, is touched after that.
void QueuePool::release(void* const* pages, uint32_t n, unsigned lcore) {
  if (n == 0) return;
  const uint32_t nb_nodes = arena_->nb_nodes();
  uint32_t home = 0;
  for (uint32_t done = 0; done < n;) {
    const uint32_t step = std::min(n - done, kChunk);
    void* own[kChunk];
    uint32_t node_of[kChunk];
    uint32_t nb_own = 0;
    for (uint32_t i = 0; i < step; ++i) {
      void* page = pages[done + i];
      node_of[nb_own] = owned_on(page);
      if (node_of[nb_own] == PageArena::kNoNode) {
        send_on(page, lcore);
      } else {
        own[nb_own++] = page;
      }
    }
    for (uint32_t node = 0; node < nb_nodes; ++node) {
      void* batch[kChunk];
      uint32_t gathered = 0;
      for (uint32_t i = 0; i < nb_own; ++i) {
        if (node_of[i] == node) batch[gathered++] = own[i];
      }
      if (gathered == 0) continue;
      const uint32_t pressure = arena_->give(node, batch, gathered);
      // Release: whoever sees the count down (relax(), the pool's end) sees the pages home.
      if (pressure != 0) owned_pressure_.fetch_sub(pressure, std::memory_order_release);
      owned_node_[node].fetch_sub(gathered, std::memory_order_release);
    }
    home += nb_own;
    done += step;
  }
  if (home == 0) return;
  counters_.add(lcore, Counter::kReleased, home);
  trace::state_release(id, name_, home, owned_.load(std::memory_order_relaxed) - home);
  owned_.fetch_sub(home, std::memory_order_release);
}

// The node of a page that counts as this pool's, or kNoNode. Pages go home seldom enough to look at
// their headers here: a page that went to the wrong pool must not come off this one's books.
uint32_t QueuePool::owned_on(void* page) const {
  const Chunk* chunk = arena_->chunk_of(page);
  if (chunk == nullptr || !arena_->is_page(page)) return PageArena::kNoNode;
  return is_owner_in(rte_mempool_from_obj(page)) ? chunk->node : PageArena::kNoNode;
}

// A page that is not this pool's goes to the pool that it is of; what is no page is not taken in.
void QueuePool::send_on(void* page, unsigned lcore) {
  char owner[PAGE_POOL_NAME_MAX + 1];
  if (Registry::instance().return_to_owner(page, owner)) {
    counters_.add(lcore, Counter::kMisrouted, 1);
    if (!worth_saying(counters_.sum(Counter::kMisrouted))) return;
    NEARPOOL_LOG(ERR,
                 "pool %s: page %p of pool %s was returned here, came to lcore %d and is sent on; "
                 "is MBUF_FAST_FREE on where several pools meet?",
                 name_, page, owner, static_cast<int>(lcore));
    return;
  }
  counters_.add(lcore, Counter::kMisuse, 1);
  if (worth_saying(counters_.sum(Counter::kMisuse))) {
    NEARPOOL_LOG(ERR,
                 "pool %s: %p, returned here and come to lcore %d, is no page of its arena nor "
                 "of another pool; it is not taken in",
                 name_, page, static_cast<int>(lcore));
  }
}

// Misuse repeats with each packet; say it the first few times, then each 2^n-th.
bool QueuePool::worth_saying(uint64_t times) {
  return times <= 8 || (times & (times - 1)) == 0;
}

}  // namespace nearpool
