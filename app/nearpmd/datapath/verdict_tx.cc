// SPDX-License-Identifier: BSD-3-Clause
// tx (XDP_TX): out of the port it came in by. The touch level swap-macs has swapped the addresses.
#include "datapath/verdict.hpp"

namespace nearpool {

void verdict_tx(const PolledQueue& queue, rte_mbuf** burst, unsigned count) {
  send_or_drop(queue.out, *queue.counters, burst, count);
}

}  // namespace nearpool
