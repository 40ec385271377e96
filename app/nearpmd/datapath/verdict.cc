// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/verdict.hpp"

namespace nearpool {

// A driver that refuses a frame as too short for it (mlx5: 18 bytes and less) or too long (net_tap:
// beyond its MTU) takes none of those behind it either, and says no more than that the queue took
// so many. Whether it was the frame or a full queue shows when the queue takes what is behind it.
void drop_unsent(TxQueue* out, QueueCounters& counters, rte_mbuf** burst, unsigned count) {
  while (count != 0) {
    const uint32_t length = burst[0]->pkt_len;
    if (length >= kShortestOnWire && length <= out->longest) break;
    Counter& refused = length < kShortestOnWire ? counters.runt : counters.oversize;
    const bool surely = length < kEthernetHeader || length > out->longest;
    rte_pktmbuf_free(*burst++);
    const unsigned sent = --count == 0 ? 0 : out->send(burst, count);
    (surely || sent != 0 ? refused : counters.tx_full).add(1);
    counters.forwarded.add(sent);
    burst += sent;
    count -= sent;
    if (sent == 0 && !surely) break;
  }
  rte_pktmbuf_free_bulk(burst, count);
  counters.tx_full.add(count);
}

VerdictFunction verdict_function(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDrop:
      return verdict_drop;
    case Verdict::kTx:
      return verdict_tx;
    case Verdict::kRedirectCpu:
      return verdict_redirect_cpu;
    case Verdict::kPass:
      return verdict_pass;
    case Verdict::kRedirect:
      break;
  }
  return verdict_redirect;
}

}  // namespace nearpool
