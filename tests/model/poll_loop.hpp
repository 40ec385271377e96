// SPDX-License-Identifier: BSD-3-Clause
// A poll loop around a real page pool, on emulated nodes, whose time is counted and not measured.
#pragma once

#include <page_pool.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "costs.hpp"

struct rte_mbuf;

namespace nearpool::model {

inline constexpr int kNicNode = 0;
inline constexpr int kFarNode = 1;
// Lcores of these nodes; the program starts the EAL so.
inline constexpr unsigned kNearLcore = 1;
inline constexpr unsigned kFarLcore = 2;

struct LoopSettings {
  uint32_t ring = 1024;  // posted buffers
  uint32_t burst = 64;
  uint32_t sent = 0;  // frames in the send ring before their pages come back; 0: dropped at once
  uint32_t pool_flags = 0;
};

// A stretch of frames.
struct Stretch {
  uint64_t frames = 0;
  uint64_t far_pages = 0;  // frames that were in a page of another node than the core's
  double nanoseconds = 0;
  double mpps() const {
    return nanoseconds == 0 ? 0 : 1e3 * static_cast<double>(frames) / nanoseconds;
  }
};

class PollLoop {
 public:
  // Takes its pages from `arena`. Posts all buffers, from the main lcore, as a port's start does.
  PollLoop(page_arena* arena, const Costs& costs, const LoopSettings& settings);
  ~PollLoop();
  PollLoop(const PollLoop&) = delete;
  PollLoop& operator=(const PollLoop&) = delete;

  // Polls `frames` frames on a lcore. If the one before was another, the queue has moved.
  Stretch run(unsigned lcore, uint64_t frames);
  bool refill_failed() const { return failed_; }

 private:
  void poll(unsigned node, Stretch& stretch);

  page_arena* const arena_;
  const Costs costs_;
  const LoopSettings settings_;
  page_pool* pool_ = nullptr;
  std::deque<rte_mbuf*> posted_;
  std::deque<rte_mbuf*> sending_;
  unsigned lcore_ = 0;  // that polled last
  bool failed_ = false;
};

}  // namespace nearpool::model
