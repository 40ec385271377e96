// SPDX-License-Identifier: BSD-3-Clause
// Big-endian fields as the device and the network have them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace nearpool::connectx4 {

constexpr uint16_t swap16(uint16_t value) {
  return __builtin_bswap16(value);
}
constexpr uint32_t swap32(uint32_t value) {
  return __builtin_bswap32(value);
}
constexpr uint64_t swap64(uint64_t value) {
  return __builtin_bswap64(value);
}

static_assert(std::endian::native == std::endian::little,
              "the formats are converted by byte swaps: a big-endian host needs none");

template <typename T>
inline T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
inline void store(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

inline uint16_t load_be16(const void* from) {
  return swap16(load<uint16_t>(from));
}
inline uint32_t load_be32(const void* from) {
  return swap32(load<uint32_t>(from));
}
inline uint64_t load_be64(const void* from) {
  return swap64(load<uint64_t>(from));
}
inline void store_be16(void* to, uint16_t value) {
  store(to, swap16(value));
}
inline void store_be32(void* to, uint32_t value) {
  store(to, swap32(value));
}
inline void store_be64(void* to, uint64_t value) {
  store(to, swap64(value));
}

}  // namespace nearpool::connectx4
