// SPDX-License-Identifier: BSD-3-Clause
#include "core_distance.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

namespace nearpool::bench {
namespace {

constexpr uint64_t kTrips = 20'000;
constexpr int kTries = 3;
// Threads that share one CPU after all would wait for each other's time slice.
constexpr auto kPatience = std::chrono::seconds(2);

using Clock = std::chrono::steady_clock;

bool pin_this_thread(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

struct Table {
  alignas(64) std::atomic<uint64_t> ball{0};
  alignas(64) std::atomic<bool> failed{false};
};

// Waits until the ball shows `number`; relaxed, since nothing but the ball itself is passed.
bool await(const Table& table, uint64_t number, Clock::time_point deadline) {
  for (uint64_t spins = 1; table.ball.load(std::memory_order_relaxed) != number; ++spins) {
    if (spins % 65'536 != 0) continue;
    if (table.failed.load(std::memory_order_relaxed) || Clock::now() > deadline) return false;
  }
  return true;
}

// Odd numbers go out, even ones come back.
void return_balls(Table& table, unsigned cpu, Clock::time_point deadline) {
  bool good = pin_this_thread(cpu);
  for (uint64_t trip = 0; good && trip < kTrips * kTries; ++trip) {
    good = await(table, 2 * trip + 1, deadline);
    if (good) table.ball.store(2 * trip + 2, std::memory_order_relaxed);
  }
  if (!good) table.failed.store(true, std::memory_order_relaxed);
}

double serve_balls(Table& table, unsigned cpu, Clock::time_point deadline) {
  if (!pin_this_thread(cpu)) return std::numeric_limits<double>::quiet_NaN();
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t played = 0; played < kTries; ++played) {
    const auto begin = Clock::now();
    for (uint64_t trip = played * kTrips; trip < (played + 1) * kTrips; ++trip) {
      table.ball.store(2 * trip + 1, std::memory_order_relaxed);
      if (!await(table, 2 * trip + 2, deadline)) return std::numeric_limits<double>::quiet_NaN();
    }
    const std::chrono::duration<double, std::nano> spent = Clock::now() - begin;
    least = std::min(least, spent.count() / static_cast<double>(kTrips));
  }
  return least;
}

}  // namespace

double core_distance(unsigned cpu, unsigned other) {
  Table table;
  double least = std::numeric_limits<double>::quiet_NaN();
  const auto deadline = Clock::now() + kPatience;
  std::thread server([&] {
    least = serve_balls(table, cpu, deadline);
    if (!(least > 0)) table.failed.store(true, std::memory_order_relaxed);
  });
  std::thread returner([&] { return_balls(table, other, deadline); });
  server.join();
  returner.join();
  return least;
}

}  // namespace nearpool::bench
