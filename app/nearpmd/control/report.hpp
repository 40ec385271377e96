// SPDX-License-Identifier: BSD-3-Clause
// What became of the frames, and the books of the pages.
#pragma once

#include <cstdio>

#include "control/engine.hpp"

namespace nearpool {

// Frames of one port, from its queues' counters and the device's own.
struct PortFrames {
  QueueTotals polled;       // by the lcores that poll its queues
  QueueTotals transmitted;  // redirect-cpu: by the lcores that transmit for them
  rte_eth_stats device{};
  // Every frame received was forwarded, dropped under a name, or handed over and then so.
  bool add_up() const;
};

PortFrames frames_of(const Port& port);
void print_frames(std::FILE* out, const Port& port, const PortFrames& frames);

// The books of all pools and the arena. @return whether they balance: per pool, owned = cached +
// stashed + ringed + inflight; in the arena, created = free + owned.
bool print_books(std::FILE* out, const Engine& engine);

// At the end, all ports closed: frames and books. @return whether all adds up and no page is out.
bool print_final(std::FILE* out, const Engine& engine);

}  // namespace nearpool
