// SPDX-License-Identifier: BSD-3-Clause
// The frame parser: bytes in, a kind out. Reads nothing beyond the bytes it is given, knows nothing
// of DPDK, and is what the fuzzer drives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpool {

constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kShortestOnWire = 60;  // IEEE 802.3, without the checksum
constexpr uint32_t kVlanTag = 4;
constexpr uint32_t kMaxVlanTags = 2;
// Enough for two VLAN tags and an IPv4 header with all options.
constexpr uint32_t kParsedBytes = kEthernetHeader + kMaxVlanTags * kVlanTag + 60;

enum class FrameKind : uint8_t {
  kRunt,   // no whole Ethernet header
  kOther,  // not IP, or more VLAN tags than are looked into
  kIpv4,
  kIpv6,
  kMalformed,  // says VLAN or IP and is too short for it, or its lengths contradict each other
};

struct ParsedFrame {
  FrameKind kind = FrameKind::kRunt;
  uint8_t vlan_tags = 0;
  uint8_t protocol = 0;    // IP protocol or next header
  uint16_t l3_offset = 0;  // of the IP header
  uint16_t l3_length = 0;  // of the IP header itself
};

namespace frame_detail {

constexpr uint16_t kTypeIpv4 = 0x0800;
constexpr uint16_t kTypeIpv6 = 0x86dd;
constexpr uint16_t kTypeVlan = 0x8100;
constexpr uint16_t kTypeQinq = 0x88a8;
constexpr uint32_t kIpv6Header = 40;

inline uint16_t big_endian16(const uint8_t* bytes) {
  return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
}

}  // namespace frame_detail

// @param bytes   the first `readable` bytes of the frame, in one piece
// @param readable  at most `length`
// @param length  bytes of the whole frame; lengths in headers are checked against it
inline ParsedFrame parse_frame(const uint8_t* bytes, size_t readable, size_t length) {
  using namespace frame_detail;
  ParsedFrame frame;
  if (readable < kEthernetHeader) return frame;

  size_t offset = kEthernetHeader;
  uint16_t type = big_endian16(bytes + 12);
  while ((type == kTypeVlan || type == kTypeQinq) && frame.vlan_tags < kMaxVlanTags) {
    if (readable < offset + kVlanTag) {
      frame.kind = FrameKind::kMalformed;
      return frame;
    }
    type = big_endian16(bytes + offset + 2);
    offset += kVlanTag;
    frame.vlan_tags++;
  }

  frame.l3_offset = static_cast<uint16_t>(offset);
  if (type == kTypeIpv4) {
    frame.kind = FrameKind::kMalformed;
    if (readable < offset + 20) return frame;
    const uint8_t* ip = bytes + offset;
    const size_t header = (ip[0] & 0x0fu) * 4u;
    const size_t total = big_endian16(ip + 2);
    if (ip[0] >> 4 != 4 || header < 20 || total < header || offset + total > length) return frame;
    frame.kind = FrameKind::kIpv4;
    frame.protocol = ip[9];
    frame.l3_length = static_cast<uint16_t>(header);
  } else if (type == kTypeIpv6) {
    frame.kind = FrameKind::kMalformed;
    if (readable < offset + kIpv6Header) return frame;
    const uint8_t* ip = bytes + offset;
    const size_t payload = big_endian16(ip + 4);
    if (ip[0] >> 4 != 6 || offset + kIpv6Header + payload > length) return frame;
    frame.kind = FrameKind::kIpv6;
    frame.protocol = ip[6];
    frame.l3_length = static_cast<uint16_t>(kIpv6Header);
  } else {
    frame.kind = FrameKind::kOther;
  }
  return frame;
}

}  // namespace nearpool
