// SPDX-License-Identifier: BSD-3-Clause
#include "control/report.hpp"

#include <fmt/format.h>

#include "control/leaks.hpp"

namespace nearpool {
namespace {

uint64_t ends(const QueueTotals& totals) {
  uint64_t sum = totals.of(&QueueCounters::forwarded) + totals.of(&QueueCounters::handed_off);
  for (size_t i = 0; i < kQueueCounters.size(); i++) {
    if (kQueueCounters[i].drop) sum += totals.values[i];
  }
  return sum;
}

std::string drops_of(const QueueTotals& totals) {
  std::string text;
  for (size_t i = 0; i < kQueueCounters.size(); i++) {
    if (kQueueCounters[i].drop && totals.values[i] != 0) {
      text += fmt::format(" + {} {}", kQueueCounters[i].name, totals.values[i]);
    }
  }
  return text;
}

struct ArenaSums {
  uint64_t owned = 0;
  unsigned dying = 0;
};

void add_pool(page_pool* pool, void* sums) {
  page_pool_stats stats;
  page_pool_get_stats(pool, &stats);
  auto* total = static_cast<ArenaSums*>(sums);
  total->owned += stats.owned;
  total->dying += stats.dying;
}

bool print_arena(std::FILE* out, const page_arena* arena) {
  uint64_t created = 0;
  uint64_t available = 0;
  const char* emulated = page_pool_nodes_emulated() ? " (emulated)" : "";
  for (uint32_t i = 0; i < page_arena_nb_nodes(arena); i++) {
    page_arena_stats stats;
    if (page_arena_get_stats(arena, i, &stats) != 0) continue;
    created += stats.pages;
    available += stats.free;
    fmt::print(out, "arena node {}{}: created {}, free {}, pressure pages out {}\n", stats.node,
               emulated, stats.pages, stats.free, stats.pressure_out);
  }
  ArenaSums sums;
  page_pool_walk(add_pool, &sums);
  fmt::print(out, "arena: created {} = free {} + owned {}{}\n", created, available, sums.owned,
             created == available + sums.owned ? "" : "  -- DOES NOT BALANCE");
  if (sums.dying != 0) fmt::print(out, "arena: {} dying pools still hold pages\n", sums.dying);
  return created == available + sums.owned;
}

}  // namespace

bool PortFrames::add_up() const {
  return polled.of(&QueueCounters::received) == ends(polled) &&
         polled.of(&QueueCounters::handed_off) == transmitted.of(&QueueCounters::received) &&
         transmitted.of(&QueueCounters::received) == ends(transmitted);
}

PortFrames frames_of(const Port& port) {
  PortFrames frames;
  frames.polled = port.earlier();
  frames.transmitted = port.earlier_transmitted();
  for (const auto& queue : port.rx_queues()) {
    frames.polled.add(queue->counters);
    frames.transmitted.add(queue->transmitter);
  }
  frames.device = port.stats();
  return frames;
}

void print_frames(std::FILE* out, const Port& port, const PortFrames& frames) {
  const rte_eth_stats& device = frames.device;
  fmt::print(out, "port {} ({}): received {} = forwarded {}", port.id(), port.name(),
             frames.polled.of(&QueueCounters::received),
             frames.polled.of(&QueueCounters::forwarded));
  if (const uint64_t handed = frames.polled.of(&QueueCounters::handed_off); handed != 0) {
    fmt::print(out, " + handed-off {}", handed);
  }
  fmt::print(out, "{}\n", drops_of(frames.polled));
  if (const uint64_t handed = frames.transmitted.of(&QueueCounters::received); handed != 0) {
    fmt::print(out, "  handed over: received {} = forwarded {}{}\n", handed,
               frames.transmitted.of(&QueueCounters::forwarded), drops_of(frames.transmitted));
  }
  if (const uint64_t flushed = frames.polled.of(&QueueCounters::flushed); flushed != 0) {
    fmt::print(out, "  flushed at start: {}\n", flushed);
  }
  if (const uint64_t malformed = frames.polled.of(&QueueCounters::malformed); malformed != 0) {
    fmt::print(out, "  malformed IP: {} (not dropped)\n", malformed);
  }
  const uint64_t bad = frames.polled.of(&QueueCounters::bad_checksum) +
                       frames.transmitted.of(&QueueCounters::bad_checksum);
  if (bad != 0) fmt::print(out, "  bad checksum: {} (not dropped)\n", bad);
  fmt::print(
      out,
      "  device: rx {}, rx missed {}, rx errors {}, rx refills refused (nombuf) {}, tx {}, tx "
      "errors {}\n",
      device.ipackets, device.imissed, device.ierrors, device.rx_nombuf, device.opackets,
      device.oerrors);
}

bool print_books(std::FILE* out, const Engine& engine) {
  bool balanced = true;
  for (const auto& entry : engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (!queue->buffers) continue;
      const PoolBooks books = queue->buffers->books();
      fmt::print(out, "pool {}: owned {} = cached {} + stashed {} + ringed {} + inflight {}{}\n",
                 books.name, books.owned, books.cached, books.stashed, books.ringed, books.inflight,
                 books.balanced() ? "" : "  -- DOES NOT BALANCE");
      balanced &= books.balanced();
    }
  }
  if (const page_arena* arena = engine.memory()->arena()) balanced &= print_arena(out, arena);
  return balanced;
}

bool print_final(std::FILE* out, const Engine& engine) {
  bool good = true;
  fmt::print(out, "\n-- frames\n");
  for (const auto& entry : engine.ports()) {
    const PortFrames frames = frames_of(*entry.second);
    print_frames(out, *entry.second, frames);
    if (frames.add_up()) continue;
    good = false;
    fmt::print(out, "port {}: THE FRAMES DO NOT ADD UP\n", entry.first);
  }
  fmt::print(out, "\n-- books, in pages\n");
  good &= print_books(out, engine);
  for (const auto& entry : engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (!queue->buffers) continue;
      const PoolBooks books = queue->buffers->books();
      if (books.inflight == 0) continue;
      good = false;
      fmt::print(out, "pool {}: LEAK: {} pages are still out though all ports are closed\n",
                 books.name, books.inflight);
    }
  }
  // Who had them, if that is known.
  if (!good && engine.options().pool.leak_seconds != 0) (void)print_leaks(out, engine);
  if (engine.dying() != 0) {
    good = false;
    fmt::print(out, "LEAK: {} dying pools still have pages out\n", engine.dying());
  }
  fmt::print(out, "{}\n", good ? "the books balance" : "THE BOOKS DO NOT BALANCE");
  return good;
}

}  // namespace nearpool
