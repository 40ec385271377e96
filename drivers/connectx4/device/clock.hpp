// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <time.h>

#include <cstdint>

namespace nearpool::connectx4 {

constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

// The device's clock: nanoseconds since an arbitrary moment. Timestamps of frames are of this
// clock.
inline uint64_t now_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

// A counter that is cheap to read, in ticks of unknown length: a span is turned into nanoseconds by
// comparing a long one with now_nanoseconds().
inline uint64_t now_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_nanoseconds();
#endif
}

}  // namespace nearpool::connectx4
