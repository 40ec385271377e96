// SPDX-License-Identifier: BSD-3-Clause
// Hardened mode: no page passes inline, so each one that leaves or comes back is looked at.
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "page_arena/log.hpp"
#include "page_pool/queue_pool.hpp"

namespace nearpool {

void QueuePool::mark_out(void* const* pages, uint32_t n) {
  const unsigned lcore = rte_lcore_id();
  for (uint32_t i = 0; i < n; ++i) {
    std::atomic<uint8_t>* mark = arena_->mark_of(pages[i]);
    if (leak_watch_) stamp_out(pages[i], lcore);
    // Relaxed: whoever returns the page got it from us through the program.
    if ((mark->fetch_or(kOut, std::memory_order_relaxed) & kOut) == 0) continue;
    counters_.add(lcore, Counter::kMisuse, 1);
    NEARPOOL_LOG(ERR, "pool %s: page %p was handed out to lcore %d while it was out already", name_,
                 pages[i], static_cast<int>(lcore));
  }
}

// Pages that pass every check go on as usual; the others are reported and not taken in.
void QueuePool::enqueue_hardened(void* const* pages, unsigned n) {
  const unsigned lcore = rte_lcore_id();
  const bool is_consumer = lcore == consumer_.load(std::memory_order_relaxed);
  counters_.add(lcore, n == 1 ? Counter::kReturnsSingle : Counter::kReturnsBulk, 1);
  for (unsigned done = 0; done < n;) {
    const unsigned step = n - done < kChunk ? n - done : kChunk;
    void* good[kChunk];
    unsigned nb_good = 0;
    for (unsigned i = 0; i < step; ++i) {
      void* page = pages[done + i];
      if (check_return(page, lcore)) good[nb_good++] = page;
    }
    done += step;
    if (nb_good == 0) continue;
    if (is_consumer) {
      put_as_consumer(good, nb_good, lcore, nullptr);
    } else {
      put_as_other(good, nb_good, lcore, nullptr);
    }
  }
}

bool QueuePool::check_return(void* page, unsigned lcore) {
  const char* complaint = nullptr;
  std::atomic<uint8_t>* mark = arena_->mark_of(page);
  if (owned_on(page) == PageArena::kNoNode) {
    // As a rule a burst freed in one go to the pool of its first buffer.
    send_on(page, lcore);
    return false;
  } else if (rte_mbuf_refcnt_read(static_cast<rte_mbuf*>(page)) != 1) {
    complaint = "is still referred to by somebody else";  // clause 3 of the keep rule
  } else if ((mark->fetch_and(static_cast<uint8_t>(~kOut), std::memory_order_relaxed) & kOut) ==
             0) {
    complaint = "was not out: it was returned twice";
  }
  if (complaint == nullptr) {
    if (leak_watch_) arena_->stamp_of(page)->store(0, std::memory_order_relaxed);
    return true;
  }
  counters_.add(lcore, Counter::kMisuse, 1);
  if (worth_saying(counters_.sum(Counter::kMisuse))) {
    NEARPOOL_LOG(ERR, "pool %s: %p, returned by lcore %d, %s; it is not taken in", name_, page,
                 static_cast<int>(lcore), complaint);
  }
  return false;
}

void QueuePool::report_takeover(unsigned lcore, uint32_t before) {
  counters_.add(lcore, Counter::kMisuse, 1);
  if (worth_saying(counters_.sum(Counter::kMisuse))) {
    NEARPOOL_LOG(ERR, "pool %s: lcore %u polls while lcore %u has not left the queue", name_, lcore,
                 before);
  }
}

}  // namespace nearpool
