// SPDX-License-Identifier: BSD-3-Clause
// Included before everything else in a ThreadSanitizer build (meson.build), and only there.
//
// A multi-producer ring of DPDK 22.11 publishes a slot like this: wait until the tail reaches the
// slots of the producers before (a relaxed load), then store the tail with release. By the letter
// of C++20 the consumer's acquire of that store says nothing about the slots of the earlier
// producers, so ThreadSanitizer reports the consumer's reads of them. On x86 every load is an
// acquire, so the order does hold there; this header makes the wait say so.
//
// What this hides: a wait of our own that needs acquire and asks rte_wait_until_equal_32 for less.
#ifndef NEARPOOL_CONFIG_TSAN_DPDK_H
#define NEARPOOL_CONFIG_TSAN_DPDK_H

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<rte_pause.h>)
#include <rte_config.h>
#include <stdint.h>
// The header's own definition has to be read before the name is taken over.
#include <rte_pause.h>

static inline void nearpool_tsan_wait_until_equal_32(volatile uint32_t* address,
                                                     uint32_t expected) {
  while (__atomic_load_n(address, __ATOMIC_ACQUIRE) != expected) {
    rte_pause();
  }
}
#define rte_wait_until_equal_32(address, expected, memorder) \
  nearpool_tsan_wait_until_equal_32((address), (expected))
#endif
#endif

#endif  // NEARPOOL_CONFIG_TSAN_DPDK_H
