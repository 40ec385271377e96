// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <utility>

#include "clock.hpp"
#include "port.hpp"
#include "quiet_thread.hpp"

namespace nearpool::connectx4 {
namespace {

// An idle thread spins so long before it sleeps: a program that polls finds it awake, one that
// waits for interrupts or shares its CPU with it is not robbed.
constexpr uint32_t kIdleSpins = 4000;
constexpr long kIdleSleepNanoseconds = 50'000;
constexpr unsigned long kTimerSlackNanoseconds = 1000;
// A round that takes longer was interrupted by another program, and says nothing about the device.
constexpr uint64_t kInterruptedTicks = 400'000;

// The EAL pins the thread that starts it, and threads inherit that: so the mask is taken when the
// library is loaded.
cpu_set_t mask_at_load() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}
const cpu_set_t allowed_cpus = mask_at_load();

}  // namespace

double EngineTimes::nanoseconds_per_frame() const {
  if (timed_frames == 0 || total_ticks == 0) return 0;
  const double nanoseconds_per_tick =
      static_cast<double>(total_nanoseconds) / static_cast<double>(total_ticks);
  return static_cast<double>(busy_ticks) * nanoseconds_per_tick / static_cast<double>(timed_frames);
}

double EngineTimes::best_nanoseconds_per_frame() const {
  if (best_stretch_ticks == 0 || total_ticks == 0) return nanoseconds_per_frame();
  return static_cast<double>(best_stretch_ticks) * static_cast<double>(total_nanoseconds) /
         static_cast<double>(total_ticks) / static_cast<double>(kStretchFrames);
}

double EngineTimes::busy_share() const {
  return total_ticks == 0 ? 0 : static_cast<double>(busy_ticks) / static_cast<double>(total_ticks);
}

Engine::Engine(std::string name, std::vector<int> cpus)
    : name_(std::move(name)), cpus_(std::move(cpus)), batch_(std::make_unique<FrameBatch>()) {
  thread_ = start_quiet_thread([this] { run(); });
}

Engine::~Engine() {
  pause();
  stopping_ = true;
  resume();
  thread_.join();
}

void Engine::pause() {
  pause_requests_.fetch_add(1, std::memory_order_acq_rel);
  mutex_.lock();
}

void Engine::resume() {
  pause_requests_.fetch_sub(1, std::memory_order_acq_rel);
  mutex_.unlock();
  resumed_.notify_all();
}

EngineTimes Engine::times() const {
  EngineTimes times = times_;
  if (first_ticks_ != 0) {
    times.total_ticks = now_ticks() - first_ticks_;
    times.total_nanoseconds = now_nanoseconds() - first_nanoseconds_;
  }
  return times;
}

void Engine::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds);
  cpu_set_t mask = allowed_cpus;
  if (!cpus_.empty()) {
    CPU_ZERO(&mask);
    for (const int cpu : cpus_)
      CPU_SET(static_cast<unsigned>(cpu), &mask);
  }
  sched_setaffinity(0, sizeof mask, &mask);

  std::unique_lock lock(mutex_);
  uint32_t idle = 0;
  while (!stopping_) {
    if (pause_requests_.load(std::memory_order_acquire) != 0) [[unlikely]] {
      resumed_.wait(lock, [this] {
        return pause_requests_.load(std::memory_order_acquire) == 0 || stopping_;
      });
      continue;
    }
    const uint64_t begin = now_ticks();
    const uint32_t frames = poll_ports();
    if (frames != 0) {
      account(frames, begin);
      idle = 0;
    } else if (++idle < kIdleSpins) {
      cpu_relax();
    } else {
      // Unlocked: a control call need not wait for a sleeper.
      lock.unlock();
      const timespec nap{0, kIdleSleepNanoseconds};
      nanosleep(&nap, nullptr);
      lock.lock();
    }
  }
}

uint32_t Engine::poll_ports() {
  uint32_t frames = 0;
  for (Port* port : ports_)
    frames += port->poll(*batch_);
  return frames;
}

void Engine::account(uint32_t frames, uint64_t begin) {
  const uint64_t end = now_ticks();
  if (first_ticks_ == 0) {
    first_ticks_ = begin;
    first_nanoseconds_ = now_nanoseconds();
  }
  times_.frames += frames;
  const uint64_t ticks = end - begin;
  if (ticks > kInterruptedTicks) return;
  times_.timed_frames += frames;
  times_.busy_ticks += ticks;
  stretch_frames_ += frames;
  stretch_ticks_ += ticks;
  if (stretch_frames_ < EngineTimes::kStretchFrames) return;
  // A round may end a few frames behind the stretch.
  const uint64_t scaled = stretch_ticks_ * EngineTimes::kStretchFrames / stretch_frames_;
  if (times_.best_stretch_ticks == 0 || scaled < times_.best_stretch_ticks) {
    times_.best_stretch_ticks = scaled;
  }
  stretch_frames_ = stretch_ticks_ = 0;
}

}  // namespace nearpool::connectx4
