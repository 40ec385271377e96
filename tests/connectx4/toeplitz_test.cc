// SPDX-License-Identifier: BSD-3-Clause
// The hash against the vectors that the specification of receive side scaling publishes.
#include "device/toeplitz.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "rss_vectors.hpp"

namespace nearpool::connectx4 {
namespace {

std::vector<uint8_t> input_of(const test::RssVector& vector, bool with_ports) {
  std::vector<uint8_t> input(vector.source.begin(), vector.source.end());
  input.insert(input.end(), vector.destination.begin(), vector.destination.end());
  if (with_ports) {
    for (const uint16_t port : {vector.source_port, vector.destination_port}) {
      input.push_back(static_cast<uint8_t>(port >> 8));
      input.push_back(static_cast<uint8_t>(port));
    }
  }
  return input;
}

TEST(Toeplitz, PublishedVectors) {
  const Toeplitz toeplitz(test::kRssKey.data());
  ASSERT_EQ(test::rss_vectors().size(), 8u);
  for (const test::RssVector& vector : test::rss_vectors()) {
    const auto addresses = input_of(vector, false);
    const auto all = input_of(vector, true);
    EXPECT_EQ(toeplitz.hash(addresses.data(), static_cast<uint32_t>(addresses.size())),
              vector.hash_of_addresses);
    EXPECT_EQ(toeplitz.hash(all.data(), static_cast<uint32_t>(all.size())), vector.hash_with_ports);
  }
}

TEST(Toeplitz, OneInputBitAddsItsKeyWindow) {
  std::array<uint8_t, Toeplitz::kKeyBytes> key{};
  key[4] = 0x80;  // bit 32
  const Toeplitz toeplitz(key.data());
  const std::array<uint8_t, 4> first{0x80, 0, 0, 0};   // window of bits 0 to 31
  const std::array<uint8_t, 4> second{0x40, 0, 0, 0};  // of bits 1 to 32
  EXPECT_EQ(toeplitz.hash(first.data(), 4), 0u);
  EXPECT_EQ(toeplitz.hash(second.data(), 4), 1u);
}

TEST(Toeplitz, NothingHashesToZero) {
  const Toeplitz toeplitz(test::kRssKey.data());
  EXPECT_EQ(toeplitz.hash(nullptr, 0), 0u);
}

}  // namespace
}  // namespace nearpool::connectx4
