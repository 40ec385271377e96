// SPDX-License-Identifier: BSD-3-Clause
// One TX queue: sending, and reaping of its completions when nothing is sent.
#pragma once

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <cstdint>

namespace nearpool {

// How an idle TX queue can be made to let go of frames it has sent.
enum class ReapMethod : uint8_t {
  kNone,              // the driver frees at once, or gives no way
  kDoneCleanup,       // rte_eth_tx_done_cleanup()
  kDescriptorStatus,  // reaps as a side effect, as mlx5 does
};

// Used by one lcore, or by several under the lock when the port has fewer TX queues than there are
// lcores (net_pcap has one per file, for example).
struct alignas(64) TxQueue {
  uint16_t port = 0;
  uint16_t queue = 0;
  bool shared = false;
  ReapMethod reap = ReapMethod::kNone;
  uint64_t offloads = 0;          // RTE_ETH_TX_OFFLOAD_* that are on
  uint32_t longest = UINT32_MAX;  // frame the driver takes; a longer one stops it
  // Of the lcore that holds the queue.
  bool sent_lately = false;   // something was sent since the last look
  bool holds_frames = false;  // something may still wait for its completion
  rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;

  // @return how many frames the queue took; the rest stays the caller's.
  unsigned send(rte_mbuf** frames, unsigned count) {
    if (shared) [[unlikely]] {
      rte_spinlock_lock(&lock);
      const unsigned sent = send_alone(frames, count);
      rte_spinlock_unlock(&lock);
      return sent;
    }
    return send_alone(frames, count);
  }

  // Called now and then; only a queue that sent nothing since the last call is reaped.
  // @return whether it was.
  bool reap_if_idle() {
    if (reap == ReapMethod::kNone) return false;
    if (!shared) return reap_alone();
    if (rte_spinlock_trylock(&lock) == 0) return false;
    const bool reaped = reap_alone();
    rte_spinlock_unlock(&lock);
    return reaped;
  }

 private:
  unsigned send_alone(rte_mbuf** frames, unsigned count) {
    sent_lately = true;
    return rte_eth_tx_burst(port, queue, frames, static_cast<uint16_t>(count));
  }

  bool reap_alone() {
    if (sent_lately) {
      sent_lately = false;
      holds_frames = true;
      return false;
    }
    if (!holds_frames) return false;
    if (reap == ReapMethod::kDoneCleanup) rte_eth_tx_done_cleanup(port, queue, 0);
    // Where the status reaps, descriptor 0 reads full as long as a frame waits for its completion.
    if (rte_eth_tx_descriptor_status(port, queue, 0) == RTE_ETH_TX_DESC_FULL) return true;
    holds_frames = reap == ReapMethod::kDoneCleanup;  // which never says: go on asking
    return true;
  }
};

}  // namespace nearpool
