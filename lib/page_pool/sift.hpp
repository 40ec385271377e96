// SPDX-License-Identifier: BSD-3-Clause
// QueuePool::sift(): a bulk of pages through the keep rule.
#pragma once

#include "page_pool/queue_pool.hpp"
#include "page_pool/trace.hpp"

namespace nearpool {

// Calls keep(pages, count) for the pages that are kept, in order, at most kChunk at a time unless
// all are, and sends the others home. Returns how many went.
template <typename Keep>
uint32_t QueuePool::sift(void* const* pages, uint32_t n, unsigned lcore, const Keep& keep) {
  const KeepRule rule = keep_rule();
  const uint32_t surplus = over_quota();
  if (surplus == 0 && rule.keeps_all(pages, n)) [[likely]] {
    keep(pages, n);
    return 0;
  }
  return sift_each(pages, n, lcore, rule, surplus, keep);
}

// Page by page. Apart, so that its tables do not weigh on the common case.
template <typename Keep>
[[gnu::noinline]] uint32_t QueuePool::sift_each(void* const* pages, uint32_t n, unsigned lcore,
                                                const KeepRule& rule, uint32_t surplus,
                                                const Keep& keep) {
  uint32_t refused = 0;
  for (uint32_t done = 0; done < n;) {
    const uint32_t step = n - done < kChunk ? n - done : kChunk;
    void* kept[kChunk];
    void* going[kChunk];
    uint32_t nb_kept = 0;
    uint32_t nb_foreign = 0;
    uint32_t nb_pressure = 0;
    uint32_t nb_surplus = 0;
    for (uint32_t i = 0; i < step; ++i) {
      void* page = pages[done + i];
      const Verdict verdict = rule(page);
      if (verdict == Verdict::kKeep && surplus == 0) {
        kept[nb_kept++] = page;
        continue;
      }
      going[nb_foreign + nb_pressure + nb_surplus] = page;
      nb_foreign += verdict == Verdict::kForeign;
      nb_pressure += verdict == Verdict::kUnderPressure;
      nb_surplus += verdict == Verdict::kKeep;
      if (surplus != 0) --surplus;
    }
    counters_.add(lcore, Counter::kForeignRefused, nb_foreign);
    counters_.add(lcore, Counter::kPressureRefused, nb_pressure);
    counters_.add(lcore, Counter::kReleasedSurplus, nb_surplus);
    if (nb_foreign != 0) trace::foreign_reject(id, name_, nb_foreign, arena_->id_of(rule.nid));
    if (nb_pressure != 0) trace::pressure_reject(id, name_, nb_pressure, arena_->id_of(rule.nid));
    // Kept pages first: as long as the others are not home, the pool cannot come to its end.
    if (nb_kept != 0) keep(kept, nb_kept);
    release(going, step - nb_kept, lcore);
    refused += step - nb_kept;
    done += step;
  }
  return refused;
}

}  // namespace nearpool
