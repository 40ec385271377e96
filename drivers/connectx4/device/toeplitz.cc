// SPDX-License-Identifier: BSD-3-Clause
#include "toeplitz.hpp"

namespace nearpool::connectx4 {
namespace {

// The 32 key bits that start at bit `first`.
uint32_t key_window(const uint8_t* key, uint32_t first) {
  uint32_t window = 0;
  for (uint32_t bit = first; bit < first + 32; ++bit) {
    const uint32_t value = bit < Toeplitz::kKeyBytes * 8 ? key[bit / 8] >> (7 - bit % 8) & 1u : 0u;
    window = window << 1 | value;
  }
  return window;
}

}  // namespace

Toeplitz::Toeplitz(const uint8_t* key) : tables_{} {
  for (uint32_t half = 0; half < tables_.size(); ++half) {
    for (uint32_t value = 0; value < 16; ++value) {
      uint32_t sum = 0;
      for (uint32_t bit = 0; bit < 4; ++bit) {
        if ((value >> (3 - bit) & 1) != 0) sum ^= key_window(key, half * 4 + bit);
      }
      tables_[half][value] = sum;
    }
  }
}

}  // namespace nearpool::connectx4
