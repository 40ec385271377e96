// SPDX-License-Identifier: BSD-3-Clause
// The verdicts, one file each. One of them is chosen per plan and called once per burst.
#pragma once

#include "datapath/frame.hpp"
#include "datapath/plan.hpp"

namespace nearpool {

void verdict_drop(const PolledQueue& queue, rte_mbuf** burst, unsigned count);
void verdict_tx(const PolledQueue& queue, rte_mbuf** burst, unsigned count);
void verdict_redirect(const PolledQueue& queue, rte_mbuf** burst, unsigned count);
void verdict_redirect_cpu(const PolledQueue& queue, rte_mbuf** burst, unsigned count);
void verdict_pass(const PolledQueue& queue, rte_mbuf** burst, unsigned count);

VerdictFunction verdict_function(Verdict verdict);

// For a burst of which the queue has left some: frees and counts them. Not inline: off the fast
// path.
void drop_unsent(TxQueue* out, QueueCounters& counters, rte_mbuf** burst, unsigned count);

// Sends what the queue takes and drops the rest under a name; as testpmd does without its retry
// option, since a frame that waits here would hold up the ones behind it.
inline void send_or_drop(TxQueue* out, QueueCounters& counters, rte_mbuf** burst, unsigned count) {
  if (out == nullptr) [[unlikely]] {
    rte_pktmbuf_free_bulk(burst, count);
    counters.no_route.add(count);
    return;
  }
  const unsigned sent = out->send(burst, count);
  counters.forwarded.add(sent);
  if (sent < count) [[unlikely]]
    drop_unsent(out, counters, burst + sent, count - sent);
}

inline void rewrite_macs(const MacRewrite& rewrite, rte_mbuf** burst, unsigned count) {
  if (!rewrite.on) [[likely]]
    return;
  for (unsigned i = 0; i < count; i++) {
    if (burst[i]->pkt_len >= kEthernetHeader) write_macs(burst[i], rewrite.addresses);
  }
}

}  // namespace nearpool
