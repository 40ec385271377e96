// SPDX-License-Identifier: BSD-3-Clause
// redirect-cpu (the kernel's cpumap): to another lcore, which transmits. Every page then comes back
// from a lcore that does not poll its queue.
#include "datapath/verdict.hpp"

namespace nearpool {

void verdict_redirect_cpu(const PolledQueue& queue, rte_mbuf** burst, unsigned count) {
  if (queue.handoff == nullptr) [[unlikely]] {
    rte_pktmbuf_free_bulk(burst, count);
    queue.counters->no_route.add(count);
    return;
  }
  // One producer and one consumer per ring; a move of either passes through a quiescent state.
  const unsigned given =
      rte_ring_sp_enqueue_burst(queue.handoff, reinterpret_cast<void**>(burst), count, nullptr);
  queue.counters->handed_off.add(given);
  if (given < count) [[unlikely]] {
    rte_pktmbuf_free_bulk(burst + given, count - given);
    queue.counters->handoff_full.add(count - given);
  }
}

}  // namespace nearpool
