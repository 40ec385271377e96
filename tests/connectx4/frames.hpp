// SPDX-License-Identifier: BSD-3-Clause
// Ethernet frames built from what a test wants in them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rss_vectors.hpp"

namespace nearpool::connectx4::test {

struct FrameWish {
  std::vector<uint8_t> destination_mac = {0x02, 0, 0, 0, 0, 2};
  std::vector<uint8_t> source_mac = {0x02, 0, 0, 0, 0, 1};
  int vlan = -1;       // tag, if not negative
  uint16_t ether = 0;  // for frames without IP; 0: as the addresses say
  std::string source = "10.0.0.1";
  std::string destination = "10.0.0.2";
  bool tcp = false;
  uint16_t source_port = 1000;
  uint16_t destination_port = 2000;
  uint32_t payload = 18;
  uint32_t ip_options = 0;  // bytes, a multiple of 4; IPv4 only
  uint16_t fragment = 0;    // the IPv4 field
  bool checksums = true;
};

inline void put16(std::vector<uint8_t>& frame, uint32_t value) {
  frame.push_back(static_cast<uint8_t>(value >> 8));
  frame.push_back(static_cast<uint8_t>(value));
}

// The sum of big-endian words, as RFC 1071 has it: the reference that the device is compared with.
inline uint16_t plain_checksum(const std::vector<uint8_t>& bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum >> 16 != 0)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct BuiltFrame {
  std::vector<uint8_t> bytes;
  uint32_t l3 = 0;  // offsets
  uint32_t l4 = 0;
};

inline uint32_t l4_checksum_offset(bool tcp) {
  return tcp ? 16 : 6;
}

inline uint16_t plain_l4_checksum(const FrameWish& wish, const std::vector<uint8_t>& l4) {
  std::vector<uint8_t> covered = address_bytes(wish.source);
  const auto destination = address_bytes(wish.destination);
  covered.insert(covered.end(), destination.begin(), destination.end());
  put16(covered, wish.tcp ? 6 : 17);
  put16(covered, static_cast<uint32_t>(l4.size()));
  covered.insert(covered.end(), l4.begin(), l4.end());
  return plain_checksum(covered);
}

inline std::vector<uint8_t> build_l4(const FrameWish& wish) {
  std::vector<uint8_t> l4;
  put16(l4, wish.source_port);
  put16(l4, wish.destination_port);
  if (wish.tcp) {
    l4.resize(20);
    l4[12] = 5 << 4;
    l4[13] = 0x10;
  } else {
    put16(l4, 8 + wish.payload);
    put16(l4, 0);
  }
  for (uint32_t i = 0; i < wish.payload; ++i)
    l4.push_back(static_cast<uint8_t>(i * 7 + 3));
  if (wish.checksums) {
    uint16_t sum = plain_l4_checksum(wish, l4);
    if (!wish.tcp && sum == 0) sum = 0xffff;
    l4[l4_checksum_offset(wish.tcp)] = static_cast<uint8_t>(sum >> 8);
    l4[l4_checksum_offset(wish.tcp) + 1] = static_cast<uint8_t>(sum);
  }
  return l4;
}

inline BuiltFrame build_frame(const FrameWish& wish) {
  BuiltFrame built;
  std::vector<uint8_t>& frame = built.bytes;
  frame = wish.destination_mac;
  frame.insert(frame.end(), wish.source_mac.begin(), wish.source_mac.end());
  if (wish.vlan >= 0) {
    put16(frame, 0x8100);
    put16(frame, static_cast<uint32_t>(wish.vlan));
  }
  const auto source = address_bytes(wish.source);
  const auto destination = address_bytes(wish.destination);
  const bool v6 = source.size() == 16;
  put16(frame, wish.ether != 0 ? wish.ether : v6 ? 0x86dd : 0x0800);
  built.l3 = static_cast<uint32_t>(frame.size());
  if (wish.ether != 0) {
    for (uint32_t i = 0; i < wish.payload; ++i)
      frame.push_back(static_cast<uint8_t>(i));
    return built;
  }
  const std::vector<uint8_t> l4 = build_l4(wish);
  std::vector<uint8_t> ip;
  if (v6) {
    put16(ip, 0x6000);
    put16(ip, 0);
    put16(ip, static_cast<uint32_t>(l4.size()));
    ip.push_back(wish.tcp ? 6 : 17);
    ip.push_back(64);
  } else {
    ip.push_back(static_cast<uint8_t>(0x45 + wish.ip_options / 4));
    ip.push_back(0);
    put16(ip, static_cast<uint32_t>(20 + wish.ip_options + l4.size()));
    put16(ip, 1);
    put16(ip, wish.fragment);
    ip.push_back(64);
    ip.push_back(wish.tcp ? 6 : 17);
    put16(ip, 0);
  }
  ip.insert(ip.end(), source.begin(), source.end());
  ip.insert(ip.end(), destination.begin(), destination.end());
  if (!v6) {
    ip.resize(ip.size() + wish.ip_options, 1);  // no-operation options
    if (wish.checksums) {
      const uint16_t sum = plain_checksum(ip);
      ip[10] = static_cast<uint8_t>(sum >> 8);
      ip[11] = static_cast<uint8_t>(sum);
    }
  }
  frame.insert(frame.end(), ip.begin(), ip.end());
  built.l4 = static_cast<uint32_t>(frame.size());
  frame.insert(frame.end(), l4.begin(), l4.end());
  return built;
}

}  // namespace nearpool::connectx4::test
