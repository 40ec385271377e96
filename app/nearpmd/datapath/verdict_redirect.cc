// SPDX-License-Identifier: BSD-3-Clause
// redirect (XDP_REDIRECT to a device): out of the port it is mapped to.
#include "datapath/verdict.hpp"

namespace nearpool {

void verdict_redirect(const PolledQueue& queue, rte_mbuf** burst, unsigned count) {
  rewrite_macs(queue.rewrite, burst, count);
  send_or_drop(queue.out, *queue.counters, burst, count);
}

}  // namespace nearpool
