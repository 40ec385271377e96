// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/checked_copy.hpp"

#include <rte_config.h>
#include <rte_cpuflags.h>
#ifdef RTE_ARCH_X86_64
#include <immintrin.h>
#endif

namespace nearpool {

namespace {

bool copy_scalar(void** to, void* const* from, uint32_t n, AddressRange range) {
  uintptr_t outside = 0;
  for (uint32_t i = 0; i < n; ++i) {
    to[i] = from[i];
    outside |= range.misses(from[i]);
  }
  return static_cast<intptr_t>(outside) >= 0;
}

#ifdef RTE_ARCH_X86_64
// By hand: compilers split 32-byte accesses when they tune for CPUs of the baseline.
[[gnu::target("avx2")]] bool copy_avx2(void** to, void* const* from, uint32_t n,
                                       AddressRange range) {
  const __m256i lo = _mm256_set1_epi64x(static_cast<int64_t>(range.lo));
  const __m256i last = _mm256_set1_epi64x(static_cast<int64_t>(range.hi - 1));
  __m256i below = _mm256_setzero_si256();
  __m256i above = _mm256_setzero_si256();
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 4));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i + 4), second);
    below = _mm256_or_si256(below, _mm256_sub_epi64(first, lo));
    above = _mm256_or_si256(above, _mm256_sub_epi64(last, first));
    below = _mm256_or_si256(below, _mm256_sub_epi64(second, lo));
    above = _mm256_or_si256(above, _mm256_sub_epi64(last, second));
  }
  // The highest bit of each lane, as in AddressRange::misses().
  const int outside = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(below, above)));
  return outside == 0 && copy_scalar(to + i, from + i, n - i, range);
}
#endif

}  // namespace

CheckedCopy best_checked_copy() {
#ifdef RTE_ARCH_X86_64
  if (rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) == 1) return copy_avx2;
#endif
  return copy_scalar;
}

}  // namespace nearpool
