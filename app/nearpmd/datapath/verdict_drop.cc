// SPDX-License-Identifier: BSD-3-Clause
// drop (the kernel's XDP_DROP): back to the pool at once.
#include "datapath/verdict.hpp"

namespace nearpool {

void verdict_drop(const PolledQueue& queue, rte_mbuf** burst, unsigned count) {
  rte_pktmbuf_free_bulk(burst, count);
  queue.counters->verdict_drop.add(count);
}

}  // namespace nearpool
