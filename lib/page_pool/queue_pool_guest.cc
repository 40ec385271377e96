// SPDX-License-Identifier: BSD-3-Clause
// A secondary process at the pool. The pool, its ring and its arena are memory that both processes
// have at the same addresses; functions are not, so nothing here calls through a pointer of theirs.
// A guest's lcore ids say nothing in the process that owns the pool, so it is a thread without one.
#include <rte_lcore.h>

#include <cerrno>
#include <cstring>

#include "page_pool/queue_pool.hpp"

namespace nearpool {

int QueuePool::dequeue_as_guest(void** pages, unsigned n) {
  // The inline code fills no cache here; it comes again for what it needs.
  const bool refill = lcore_cache::is_own_table(lcore_cache::of(mempool_, rte_lcore_id()), pages);
  if (dying() || refill) return -ENOBUFS;
  Claim claim(*this, kUnregisteredHolder);
  if (!claim) return take_beside(pages, n, LCORE_ID_ANY, false);
  if (!fill_stash(n, LCORE_ID_ANY, false)) {
    counters_.add(LCORE_ID_ANY, Counter::kAllocFailed, 1);
    return -ENOBUFS;
  }
  const uint32_t left = stash_length_.load(std::memory_order_relaxed) - n;
  std::memcpy(pages, stash_ + left, n * sizeof(void*));
  stash_length_.store(left, std::memory_order_relaxed);
  claim.release();
  counters_.add(LCORE_ID_ANY, Counter::kAllocSlow, n);
  counters_.add(LCORE_ID_ANY, Counter::kTakesOther, n);
  if (hardened_) mark_out(pages, n);
  return 0;
}

void QueuePool::enqueue_as_guest(void* const* pages, unsigned n) {
  counters_.add(LCORE_ID_ANY, n == 1 ? Counter::kReturnsSingle : Counter::kReturnsBulk, 1);
  if (!hardened_) {
    put_as_other(pages, n, LCORE_ID_ANY, nullptr);
    return;
  }
  for (unsigned i = 0; i < n; ++i) {
    if (check_return(pages[i], LCORE_ID_ANY)) put_as_other(&pages[i], 1, LCORE_ID_ANY, nullptr);
  }
}

}  // namespace nearpool
