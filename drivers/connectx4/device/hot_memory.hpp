// SPDX-License-Identifier: BSD-3-Clause
// Copies and prefetches of the packet path. Nothing here reads or writes a byte outside of the
// lengths given, since the bytes beside a frame may belong to somebody else, or to nobody.
#pragma once

#include <cstdint>
#include <cstring>

namespace nearpool::connectx4 {

constexpr uint32_t kCacheLine = 64;

inline void prefetch(const void* address) {
  __builtin_prefetch(address, 0, 3);
}

// The line will be written: fetch it in exclusive state, which saves a second trip to the core that
// read it last. The compiler's own builtin falls back to a plain prefetch on the baseline CPU.
inline void prefetch_for_write(const void* address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <uint32_t kBytes>
inline void copy_fixed(uint8_t* to, const uint8_t* from) {
  __builtin_memcpy(to, from, kBytes);
}

// Two blocks that overlap in the middle cover every length from kBytes to twice that.
template <uint32_t kBytes>
inline void copy_overlapping(uint8_t* to, const uint8_t* from, uint32_t length) {
  uint8_t first[kBytes];
  uint8_t last[kBytes];
  __builtin_memcpy(first, from, kBytes);
  __builtin_memcpy(last, from + length - kBytes, kBytes);
  __builtin_memcpy(to, first, kBytes);
  __builtin_memcpy(to + length - kBytes, last, kBytes);
}

// Most copies are of a few dozen bytes, where a call into the C library costs more than the copy.
inline void copy_bytes(uint8_t* to, const uint8_t* from, uint32_t length) {
  if (length > 128) {
    std::memcpy(to, from, length);
  } else if (length >= 64) {
    copy_overlapping<64>(to, from, length);
  } else if (length >= 32) {
    copy_overlapping<32>(to, from, length);
  } else if (length >= 16) {
    copy_overlapping<16>(to, from, length);
  } else if (length >= 8) {
    copy_overlapping<8>(to, from, length);
  } else {
    for (uint32_t i = 0; i < length; ++i)
      to[i] = from[i];
  }
}

}  // namespace nearpool::connectx4
