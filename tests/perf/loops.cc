// SPDX-License-Identifier: BSD-3-Clause
#include "loops.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

#include "report.hpp"

namespace nearpool::bench {

namespace {

constexpr unsigned kLapPages = 32768;
constexpr unsigned kMostSet = 1024;
constexpr unsigned kPipelineLapPages = 8192;
constexpr uint32_t kPacketBytes = 60;
constexpr double kGiveUpSeconds = 2;

// The program's table of pages. A table that lies at the same place within 4 KiB as a pool's cache
// makes the CPU take loads of the one to depend on stores to the other, which costs up to a half.
// Whether it does is luck, so each turn of a lap has its table at another place.
struct alignas(4096) Tables {
  static constexpr unsigned kPlaces = 64;  // a cache line apart
  void* slots[kMostSet + 512];
  void** at(unsigned turn) { return slots + turn % kPlaces * 8; }
};

// Returns whether each take was granted.
template <unsigned kBulk>
bool run_lap(const Hot& hot, Tables& tables, unsigned set, unsigned turns) {
  for (unsigned turn = 0; turn < turns; ++turn) {
    void** pages = tables.at(turn);
    if (hot.pool != nullptr) hot.nid_changed(hot.pool, kHomeNode);
    for (unsigned i = 0; i < set; i += kBulk) {
      if (rte_mempool_get_bulk(hot.mempool, pages + i, kBulk) != 0) [[unlikely]]
        return false;
    }
    for (unsigned i = 0; i < set; i += kBulk) {
      rte_mempool_put_bulk(hot.mempool, pages + i, kBulk);
    }
  }
  return true;
}

using Lap = bool (*)(const Hot&, Tables&, unsigned, unsigned);

Lap lap_of(unsigned bulk) {
  switch (bulk) {
    case 1:
      return run_lap<1>;
    case 4:
      return run_lap<4>;
    case 32:
      return run_lap<32>;
    case 64:
      return run_lap<64>;
    default:
      return nullptr;
  }
}

struct FreeRing {
  void operator()(rte_ring* ring) const { rte_ring_free(ring); }
};

struct Pipeline {
  Hot hot;
  rte_ring* handover;
  uint64_t patience;  // TSC cycles to wait for pages
  std::atomic<bool> stop{false};
  uint64_t bytes = 0;  // the returner's, read after it has ended
};

int run_returner(void* argument) {
  Pipeline& pipeline = *static_cast<Pipeline*>(argument);
  const Hot hot = pipeline.hot;
  void* pages[kPipelineBulk];
  uint64_t bytes = 0;
  for (;;) {
    // Acquire: pairs with the release that follows the taker's last hand-over.
    const bool last = pipeline.stop.load(std::memory_order_acquire);
    if (rte_ring_sc_dequeue_bulk(pipeline.handover, pages, kPipelineBulk, nullptr) == 0) {
      if (last) break;
      rte_pause();
      continue;
    }
    for (void* page : pages) {
      auto* mbuf = static_cast<rte_mbuf*>(page);
      bytes += mbuf->pkt_len;
      mbuf->pkt_len = 0;
    }
    rte_mempool_put_bulk(hot.mempool, pages, kPipelineBulk);
    if (hot.pool != nullptr) hot.flush_returns(hot.pool);
  }
  pipeline.bytes = bytes;
  return 0;
}

// Passes `bulks` bulks on. A take that is refused waits for pages to come back; returns how many
// bulks were passed when none came.
unsigned run_taker(Pipeline& pipeline, unsigned bulks) {
  const Hot hot = pipeline.hot;
  void* pages[kPipelineBulk];
  uint64_t refused_since = 0;
  for (unsigned passed = 0; passed < bulks;) {
    if (hot.pool != nullptr) hot.nid_changed(hot.pool, kHomeNode);
    if (rte_mempool_get_bulk(hot.mempool, pages, kPipelineBulk) != 0) [[unlikely]] {
      const uint64_t now = rte_get_tsc_cycles();
      if (refused_since == 0) refused_since = now;
      if (now - refused_since > pipeline.patience) return passed;
      rte_pause();
      continue;
    }
    refused_since = 0;
    for (void* page : pages) {
      auto* mbuf = static_cast<rte_mbuf*>(page);
      mbuf->data_len = kPacketBytes;
      mbuf->pkt_len = kPacketBytes;
    }
    while (rte_ring_sp_enqueue_bulk(pipeline.handover, pages, kPipelineBulk, nullptr) == 0) {
      rte_pause();
    }
    ++passed;
  }
  return bulks;
}

}  // namespace

Result<double> one_core(const Contender& contender, unsigned bulk, unsigned set, unsigned skew,
                        uint64_t slot) {
  const Lap lap = lap_of(bulk);
  if (lap == nullptr || set > kMostSet || set % bulk != 0 || skew > kMostSkew) {
    return fail(-EINVAL, fmt::format("no loop for bulk {}, set {} and skew {}", bulk, set, skew));
  }
  const Hot hot = contender.hot();
  void* held[kMostSkew];
  for (unsigned i = 0; i < skew; ++i) {
    if (rte_mempool_get(hot.mempool, &held[i]) != 0) {
      return fail(-ENOBUFS, fmt::format("{}: no {} pages", contender.name(), skew));
    }
  }
  const unsigned turns = kLapPages / set;
  static Tables tables;
  std::vector<double> laps;
  const uint64_t end = rte_get_tsc_cycles() + slot;
  bool warm = false;
  do {
    const uint64_t begin = rte_rdtsc_precise();
    if (!lap(hot, tables, set, turns)) {
      return fail(-ENOBUFS, fmt::format("{}: a take of {} pages was refused with at most {} out",
                                        contender.name(), bulk, set));
    }
    const uint64_t cycles = rte_rdtsc_precise() - begin;
    if (warm) laps.push_back(static_cast<double>(cycles) / (turns * set));
    warm = true;
  } while (laps.empty() || rte_get_tsc_cycles() < end);
  for (unsigned i = 0; i < skew; ++i)
    rte_mempool_put(hot.mempool, held[i]);
  return median(laps);
}

Result<double> two_lcores(const Contender& contender, uint32_t pages, uint64_t slot) {
  const std::unique_ptr<rte_ring, FreeRing> handover(
      rte_ring_create("handover", kHandoverSlots, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
  if (handover == nullptr) {
    return fail(-rte_errno, fmt::format("no ring for the hand-over: {}", rte_strerror(rte_errno)));
  }
  Pipeline pipeline{
      .hot = contender.hot(),
      .handover = handover.get(),
      .patience = static_cast<uint64_t>(kGiveUpSeconds * static_cast<double>(rte_get_tsc_hz()))};
  if (const int code = rte_eal_remote_launch(run_returner, &pipeline, kReturner); code != 0) {
    return fail(code, "the returning lcore does not start");
  }
  constexpr unsigned kBulks = kPipelineLapPages / kPipelineBulk;
  std::vector<double> laps;
  uint64_t passed = 0;
  const uint64_t end = rte_get_tsc_cycles() + slot;
  // Until each page could have been out twice, the pool is not as it will be.
  const uint64_t warm = 2 * uint64_t{pages};
  unsigned bulks = kBulks;
  do {
    const uint64_t begin = rte_rdtsc_precise();
    bulks = run_taker(pipeline, kBulks);
    const uint64_t cycles = rte_rdtsc_precise() - begin;
    passed += uint64_t{bulks} * kPipelineBulk;
    if (bulks == kBulks && passed > warm) {
      laps.push_back(static_cast<double>(cycles) / kPipelineLapPages);
    }
  } while (bulks == kBulks && (laps.empty() || rte_get_tsc_cycles() < end));
  // Release: pairs with the acquire in run_returner(), which then sees the last hand-over.
  pipeline.stop.store(true, std::memory_order_release);
  rte_eal_wait_lcore(kReturner);
  if (bulks != kBulks) {
    return fail(-ENOBUFS, fmt::format("{} of {} pages: no page came back for {} s",
                                      contender.name(), pages, kGiveUpSeconds));
  }
  if (pipeline.bytes != passed * kPacketBytes) {
    return fail(-EIO, fmt::format("{} of {} pages: {} bytes were handed over and {} arrived",
                                  contender.name(), pages, passed * kPacketBytes, pipeline.bytes));
  }
  return median(laps);
}

}  // namespace nearpool::bench
