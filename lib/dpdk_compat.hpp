// SPDX-License-Identifier: BSD-3-Clause
// What DPDK names or does otherwise between 22.11 and 26.07; all else that nearpool uses is the
// same in both. Written from the API documentation and release notes of those releases. What was
// built and run is 22.11; see docs/architecture.md.
//
// Looked at and found to need nothing: lcore variables (24.11) are another way to keep what is a
// lcore's own, and none of them is used; the lcore id is where it was.
#pragma once

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_telemetry.h>
#include <rte_version.h>
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#include <rte_thread.h>
#endif

#include <cstdint>

namespace nearpool::compat {

// ---- telemetry: 23.03 renamed the function, and 26.07 has the new name only

inline int add_dict_uint(rte_tel_data* dict, const char* name, uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  return rte_tel_data_add_dict_uint(dict, name, value);
#else
  return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

// ---- control threads: 23.11 has others, with shorter names

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
using ControlThread = rte_thread_t;
inline int start_control_thread(ControlThread* thread, const char* name, rte_thread_func run,
                                void* argument) {
  return rte_thread_create_control(thread, name, run, argument);
}
inline void join(ControlThread thread) {
  rte_thread_join(thread, nullptr);
}
using ControlResult = uint32_t;
inline constexpr ControlResult kControlDone = 0;
#else
using ControlThread = pthread_t;
using ControlResult = void*;
inline constexpr ControlResult kControlDone = nullptr;
inline int start_control_thread(ControlThread* thread, const char* name,
                                ControlResult (*run)(void*), void* argument) {
  return rte_ctrl_thread_create(thread, name, nullptr, run, argument);
}
inline void join(ControlThread thread) {
  pthread_join(thread, nullptr);
}
#endif

// ---- mempool caches: 26.07 flushes half a cache at a time and ignores flushthresh

// Whether a cache can be steered by its threshold. Where not, pools go without caches: each take
// and each return is a driver call, which works the same in all releases. A test builds that way
// too.
#if RTE_VERSION >= RTE_VERSION_NUM(26, 7, 0, 0) || defined(NEARPOOL_WITHOUT_CACHES)
inline constexpr bool kCachesGoByThreshold = false;
#else
inline constexpr bool kCachesGoByThreshold = true;
#endif

// The threshold, or a word that nobody reads where a release has none.
template <typename Cache>
auto* threshold_of(Cache* cache) {
  if constexpr (requires { cache->flushthresh; }) {
    return &cache->flushthresh;
  } else {
    static uint32_t none = 0;
    return &none;
  }
}

}  // namespace nearpool::compat
