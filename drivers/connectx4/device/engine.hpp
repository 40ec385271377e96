// SPDX-License-Identifier: BSD-3-Clause
// A device thread: polls the ports given to it. Nothing is locked per frame; instead a control call
// stops all device threads for as long as it changes what they read.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "frame.hpp"

namespace nearpool::connectx4 {

class Port;

// How long a device thread was at work.
struct EngineTimes {
  uint64_t frames = 0;
  uint64_t timed_frames = 0;  // without those of rounds that were interrupted
  uint64_t busy_ticks = 0;    // for these
  uint64_t total_ticks = 0;   // since the first such round
  uint64_t total_nanoseconds = 0;

  // Of the best stretch of kStretchFrames: what the device takes when nothing else disturbs the
  // machine.
  uint64_t best_stretch_ticks = 0;

  static constexpr uint64_t kStretchFrames = 1 << 16;

  double nanoseconds_per_frame() const;
  double best_nanoseconds_per_frame() const;
  double busy_share() const;
};

class Engine {
 public:
  // `cpus` is where the thread may run; empty: anywhere the program was allowed to when it started.
  Engine(std::string name, std::vector<int> cpus);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Between pause() and resume() the thread is outside of all ports. Nests over several callers
  // only by waiting.
  void pause();
  void resume();

  // Paused.
  void add(Port* port) { ports_.push_back(port); }
  void remove(Port* port) { std::erase(ports_, port); }
  bool empty() const { return ports_.empty(); }
  EngineTimes times() const;
  const std::string& name() const { return name_; }

 private:
  void run();
  uint32_t poll_ports();
  void account(uint32_t frames, uint64_t begin);

  const std::string name_;
  const std::vector<int> cpus_;
  std::mutex mutex_;  // held by the thread while it works
  std::condition_variable resumed_;
  // Pairs with the thread's acquire load at the top of each round: who has raised it gets the mutex
  // next, instead of racing with a thread that takes it again at once.
  alignas(kCacheLine) std::atomic<uint32_t> pause_requests_{0};
  alignas(kCacheLine) std::vector<Port*> ports_;
  EngineTimes times_;
  uint64_t stretch_frames_ = 0;
  uint64_t stretch_ticks_ = 0;
  uint64_t first_ticks_ = 0;
  uint64_t first_nanoseconds_ = 0;
  bool stopping_ = false;
  std::unique_ptr<FrameBatch> batch_;
  std::thread thread_;
};

}  // namespace nearpool::connectx4
