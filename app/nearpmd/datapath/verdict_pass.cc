// SPDX-License-Identifier: BSD-3-Clause
// pass (XDP_PASS): to the kernel, through the exception port of the port it came in by, and from an
// exception port to the wire. The control thread has put the right one in `out`.
#include "datapath/verdict.hpp"

namespace nearpool {

void verdict_pass(const PolledQueue& queue, rte_mbuf** burst, unsigned count) {
  send_or_drop(queue.out, *queue.counters, burst, count);
}

}  // namespace nearpool
