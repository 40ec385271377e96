// SPDX-License-Identifier: BSD-3-Clause
// A port that holds buffers as the mlx5 driver does, for tests without such a NIC. Loaded with
// LD_PRELOAD, it takes over the data path of every net_null port whose name begins with
// "net_null_hold": it needs DPDK's public headers only, and works below any program.
//  - RX: a ring full of buffers, each taken singly at start; refilled with one bulk of at least a
//    quarter of the ring, all or nothing; a refusal counts as rx_nombuf though nothing is lost.
//  - TX: frees at most 2 x 32 buffers per non-empty burst, in runs of one pool; nothing when idle;
//    no tx_done_cleanup; reading a descriptor's status frees as a side effect.
// Environment: HOLD_FRAMES, frames that each RX queue delivers in all (default: no end);
// HOLD_PPS, frames per second and queue (default: as fast as they are asked for);
// HOLD_SHORTEST, a shorter frame is refused by TX, and with it those behind it (default: none);
// HOLD_HOSTAGE, a file: as long as it exists the TX rings of net_null_hold1 keep their last frame;
// HOLD_STUCK, a file: as long as it exists no port stops;
// HOLD_STALLED, a file: as long as it exists the TX rings free nothing.
#include <dlfcn.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr uint16_t kFrameBytes = 60;
constexpr unsigned kMostFreed = 2 * 32;

uint64_t environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool names_a_file(const char* variable) {
  const char* file = std::getenv(variable);
  return file != nullptr && access(file, F_OK) == 0;
}

struct RxRing {
  uint16_t port = 0;
  rte_mempool* pool = nullptr;
  unsigned size = 0;
  std::deque<rte_mbuf*> filled;
  uint64_t left = 0;  // frames still to be delivered
  uint64_t pps = 0;
  uint64_t began = 0;  // TSC
  uint64_t delivered = 0, bytes = 0, refused = 0;

  bool fill_singly() {
    while (filled.size() < size) {
      rte_mbuf* buffer = rte_pktmbuf_alloc(pool);
      if (buffer == nullptr) return false;
      filled.push_back(buffer);
    }
    return true;
  }

  void refill() {
    const auto missing = static_cast<unsigned>(size - filled.size());
    if (missing < std::max(1u, size / 4)) return;
    std::array<void*, 32768> buffers;
    if (rte_mempool_get_bulk(pool, buffers.data(), missing) != 0) {
      refused += missing;
      return;
    }
    for (unsigned i = 0; i < missing; i++) {
      auto* buffer = static_cast<rte_mbuf*>(buffers[i]);
      rte_pktmbuf_reset(buffer);
      rte_mbuf_refcnt_set(buffer, 1);
      filled.push_back(buffer);
    }
  }

  uint64_t due() const {
    if (pps == 0) return left;
    const double seconds =
        static_cast<double>(rte_get_tsc_cycles() - began) / static_cast<double>(rte_get_tsc_hz());
    const auto allowed = static_cast<uint64_t>(seconds * static_cast<double>(pps));
    return std::min(left, allowed > delivered ? allowed - delivered : 0);
  }

  uint16_t burst(rte_mbuf** frames, uint16_t wanted) {
    refill();
    const auto count =
        static_cast<uint16_t>(std::min({uint64_t{wanted}, uint64_t{filled.size()}, due()}));
    for (uint16_t i = 0; i < count; i++) {
      rte_mbuf* frame = filled.front();
      filled.pop_front();
      char* data = rte_pktmbuf_append(frame, kFrameBytes);
      if (data == nullptr) std::abort();  // a buffer holds at least 128 bytes
      std::memset(data, 2, 12);
      std::memset(data + 12, 0xff, kFrameBytes - 12);
      frame->port = port;
      frames[i] = frame;
    }
    delivered += count;
    bytes += uint64_t{count} * kFrameBytes;
    left -= count;
    return count;
  }

  void empty() {
    for (rte_mbuf* buffer : filled)
      rte_pktmbuf_free(buffer);
    filled.clear();
  }
};

struct TxRing {
  unsigned size = 0;
  bool takes_hostages = false;
  bool stalls = false;
  uint64_t shortest = 0;       // frame to be sent, in bytes
  std::deque<rte_mbuf*> held;  // segments
  uint64_t sent = 0, bytes = 0;

  void free_some(size_t most) {
    std::array<void*, kMostFreed> run;
    unsigned length = 0;
    rte_mempool* pool = nullptr;
    const size_t keep = takes_hostages && names_a_file("HOLD_HOSTAGE") ? 1 : 0;
    for (size_t freed = 0; freed < most && held.size() > keep; freed++) {
      rte_mbuf* segment = rte_pktmbuf_prefree_seg(held.front());
      held.pop_front();
      if (segment == nullptr) continue;
      if (length == run.size() || (length != 0 && segment->pool != pool)) {
        rte_mempool_put_bulk(pool, run.data(), length);
        length = 0;
      }
      pool = segment->pool;
      run[length++] = segment;
    }
    if (length != 0) rte_mempool_put_bulk(pool, run.data(), length);
  }

  bool is_stalled() const { return stalls && names_a_file("HOLD_STALLED"); }

  uint16_t burst(rte_mbuf** frames, uint16_t count) {
    if (count == 0) return 0;
    if (!is_stalled()) free_some(kMostFreed);
    uint16_t taken = 0;
    while (taken < count && held.size() + frames[taken]->nb_segs <= size &&
           frames[taken]->pkt_len >= shortest) {
      rte_mbuf* frame = frames[taken++];
      bytes += frame->pkt_len;
      for (rte_mbuf* segment = frame; segment != nullptr;) {
        rte_mbuf* next = segment->next;
        held.push_back(segment);
        segment = next;
      }
    }
    sent += taken;
    return taken;
  }
};

struct HoldPort {
  std::map<uint16_t, RxRing> rx;
  std::map<uint16_t, TxRing> tx;

  void empty() {
    for (auto& entry : rx)
      entry.second.empty();
    for (auto& entry : tx)
      entry.second.free_some(SIZE_MAX);
  }
};

std::map<uint16_t, HoldPort> ports;

std::string name_of(uint16_t port) {
  char name[RTE_ETH_NAME_MAX_LEN];
  return rte_eth_dev_get_name_by_port(port, name) == 0 ? name : "";
}

bool is_hold(uint16_t port) {
  return name_of(port).starts_with("net_null_hold");
}

template <class Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

uint16_t rx_burst(void* queue, rte_mbuf** frames, uint16_t count) {
  return static_cast<RxRing*>(queue)->burst(frames, count);
}

uint16_t tx_burst(void* queue, rte_mbuf** frames, uint16_t count) {
  return static_cast<TxRing*>(queue)->burst(frames, count);
}

int tx_descriptor_status(void* queue, uint16_t offset) {
  auto* ring = static_cast<TxRing*>(queue);
  if (offset >= ring->size) return -EINVAL;
  if (!ring->is_stalled()) ring->free_some(kMostFreed);
  return offset < ring->held.size() ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

void** queue_data(std::map<std::pair<uint16_t, bool>, std::vector<void*>>& all, uint16_t port,
                  bool tx) {
  auto& queues = all[{port, tx}];
  queues.assign(RTE_MAX_QUEUES_PER_PORT, nullptr);
  HoldPort& hold = ports[port];
  if (tx) {
    for (auto& [id, ring] : hold.tx)
      queues[id] = &ring;
  } else {
    for (auto& [id, ring] : hold.rx)
      queues[id] = &ring;
  }
  return queues.data();
}

void take_over(uint16_t port) {
  static std::map<std::pair<uint16_t, bool>, std::vector<void*>> data;
  struct rte_eth_fp_ops& ops = rte_eth_fp_ops[port];
  ops.rxq.data = queue_data(data, port, false);
  ops.txq.data = queue_data(data, port, true);
  ops.rx_pkt_burst = rx_burst;
  ops.tx_pkt_burst = tx_burst;
  ops.tx_descriptor_status = tx_descriptor_status;
}

}  // namespace

extern "C" {

int rte_eth_rx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned socket,
                           const rte_eth_rxconf* conf, rte_mempool* pool) {
  const int error = real(&rte_eth_rx_queue_setup, "rte_eth_rx_queue_setup")(
      port, queue, descriptors, socket, conf, pool);
  if (error == 0 && is_hold(port)) {
    RxRing& ring = ports[port].rx[queue];
    ring.port = port;
    ring.pool = pool;
    ring.size = descriptors;
    ring.left = environment("HOLD_FRAMES", UINT64_MAX);
    ring.pps = environment("HOLD_PPS", 0);
  }
  return error;
}

int rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors, unsigned socket,
                           const rte_eth_txconf* conf) {
  const int error = real(&rte_eth_tx_queue_setup, "rte_eth_tx_queue_setup")(
      port, queue, descriptors, socket, conf);
  if (error == 0 && is_hold(port)) {
    TxRing& ring = ports[port].tx[queue];
    ring.size = descriptors;
    ring.shortest = environment("HOLD_SHORTEST", 0);
    ring.takes_hostages = name_of(port) == "net_null_hold1";
    ring.stalls = std::getenv("HOLD_STALLED") != nullptr;
  }
  return error;
}

int rte_eth_dev_start(uint16_t port) {
  if (is_hold(port)) {
    for (auto& entry : ports[port].rx) {
      entry.second.began = rte_get_tsc_cycles();
      if (!entry.second.fill_singly()) {
        ports[port].empty();
        return -ENOMEM;
      }
    }
  }
  const int error = real(&rte_eth_dev_start, "rte_eth_dev_start")(port);
  if (error == 0 && is_hold(port)) take_over(port);
  return error;
}

int rte_eth_dev_stop(uint16_t port) {
  while (is_hold(port) && names_a_file("HOLD_STUCK"))
    rte_delay_us_sleep(1000);
  const int error = real(&rte_eth_dev_stop, "rte_eth_dev_stop")(port);
  if (is_hold(port)) ports[port].empty();
  return error;
}

int rte_eth_dev_close(uint16_t port) {
  if (is_hold(port)) {
    ports[port].empty();
    ports.erase(port);
  }
  return real(&rte_eth_dev_close, "rte_eth_dev_close")(port);
}

int rte_eth_stats_get(uint16_t port, rte_eth_stats* stats) {
  const int error = real(&rte_eth_stats_get, "rte_eth_stats_get")(port, stats);
  if (error != 0 || !is_hold(port)) return error;
  *stats = {};
  for (const auto& entry : ports[port].rx) {
    stats->ipackets += entry.second.delivered;
    stats->ibytes += entry.second.bytes;
    stats->rx_nombuf += entry.second.refused;
  }
  for (const auto& entry : ports[port].tx) {
    stats->opackets += entry.second.sent;
    stats->obytes += entry.second.bytes;
  }
  return 0;
}

}  // extern "C"
