// SPDX-License-Identifier: BSD-3-Clause
// The Toeplitz hash of receive side scaling, with its 40-byte key turned into tables.
#pragma once

#include <array>
#include <cstdint>

namespace nearpool::connectx4 {

class Toeplitz {
 public:
  static constexpr uint32_t kKeyBytes = 40;
  // IPv6 addresses and two ports.
  static constexpr uint32_t kMostInput = 36;

  explicit Toeplitz(const uint8_t* key);

  // Hash of `length` bytes, at most kMostInput.
  uint32_t hash(const uint8_t* input, uint32_t length) const {
    uint32_t result = 0;
    for (uint32_t i = 0; i < length; ++i) {
      result ^= tables_[i * 2][input[i] >> 4] ^ tables_[i * 2 + 1][input[i] & 15];
    }
    return result;
  }

 private:
  // For each half byte of the input, what each of its 16 values adds to the hash.
  std::array<std::array<uint32_t, 16>, kMostInput * 2> tables_;
};

}  // namespace nearpool::connectx4
