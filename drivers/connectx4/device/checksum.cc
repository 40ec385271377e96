// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.hpp"

#include "byte_order.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint8_t kProtocolTcp = 6;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint32_t kTcpChecksum = 16;  // offsets in the header
constexpr uint32_t kUdpChecksum = 6;
constexpr uint32_t kIpv4Checksum = 10;

// Sums 32-bit words into 64 bits: no carry is lost below 16 GiB.
uint64_t sum_words(const uint8_t* data, uint32_t length) {
  uint64_t even = 0;
  uint64_t odd = 0;
  for (; length >= 16; length -= 16, data += 16) {
    even += load<uint32_t>(data);
    odd += load<uint32_t>(data + 4);
    even += load<uint32_t>(data + 8);
    odd += load<uint32_t>(data + 12);
  }
  for (; length >= 4; length -= 4, data += 4)
    even += load<uint32_t>(data);
  if (length >= 2) {
    even += load<uint16_t>(data);
    data += 2;
    length -= 2;
  }
  if (length != 0) even += *data;
  return even + odd;
}

uint16_t fold(uint64_t sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffffffff) + (sum >> 32);
  auto folded = static_cast<uint32_t>(sum);
  folded = (folded & 0xffff) + (folded >> 16);
  folded = (folded & 0xffff) + (folded >> 16);
  return static_cast<uint16_t>(folded);
}

uint8_t protocol_of(const PacketInfo& info) {
  return info.l4 == L4::kTcp ? kProtocolTcp : kProtocolUdp;
}

}  // namespace

void ChecksumSum::add(const uint8_t* data, uint32_t length) {
  if (length == 0) return;
  if (odd_) {
    // The first byte completes the word begun before; what follows is aligned again.
    sum_ += static_cast<uint64_t>(*data) << 8;
    ++data;
    --length;
    odd_ = false;
  }
  sum_ += sum_words(data, length);
  odd_ = (length & 1) != 0;
}

uint16_t ChecksumSum::folded() const {
  return swap16(fold(sum_));
}

namespace {

// Pseudo header, L4 header and payload, including whatever the checksum field holds.
uint16_t l4_sum(const Frame& frame) {
  const PacketInfo& info = frame.info;
  const uint8_t* l3 = frame.head.data() + info.l3_offset;
  ChecksumSum sum;
  if (info.l3 == L3::kIpv4) {
    sum.add(l3 + 12, 8);
  } else {
    sum.add(l3 + 8, 32);
  }
  sum.add_word(swap16(protocol_of(info)));
  const uint32_t length = info.l4_length;
  sum.add_word(swap16(static_cast<uint16_t>(length)));
  const uint32_t in_head = frame.head_length - info.l4_offset;
  if (length <= in_head) {
    sum.add(frame.head.data() + info.l4_offset, length);
    return sum.folded();
  }
  FrameReader reader(frame, info.l4_offset);
  for (uint32_t left = length; left > 0;) {
    const Segment piece = reader.piece(left);
    sum.add(piece.data, piece.length);
    left -= piece.length;
  }
  return sum.folded();
}

}  // namespace

ChecksumStatus verify_ip_checksums(const Frame& frame) {
  const PacketInfo& info = frame.info;
  ChecksumStatus status;
  const uint8_t* l3 = frame.head.data() + info.l3_offset;
  if (info.l3 == L3::kIpv4) {
    ChecksumSum sum;
    sum.add(l3, (l3[0] & 15u) * 4);
    status.l3_ok = sum.folded() == 0xffff;
  } else {
    status.l3_ok = true;
  }
  if (info.l4 == L4::kNone) return status;
  if (info.l4 == L4::kUdp && info.l3 == L3::kIpv4 &&
      load<uint16_t>(frame.head.data() + info.l4_offset + kUdpChecksum) == 0) {
    status.l4_ok = true;
    return status;
  }
  status.l4_ok = l4_sum(frame) == 0xffff;
  return status;
}

void fill_checksums(Frame& frame, bool l3, bool l4) {
  const PacketInfo& info = frame.info;
  if (l3 && info.l3 == L3::kIpv4) {
    uint8_t* header = frame.head.data() + info.l3_offset;
    store<uint16_t>(header + kIpv4Checksum, 0);
    ChecksumSum sum;
    sum.add(header, (header[0] & 15u) * 4);
    store_be16(header + kIpv4Checksum, static_cast<uint16_t>(~sum.folded()));
  }
  if (l4 && info.l4 != L4::kNone) {
    const bool tcp = info.l4 == L4::kTcp;
    uint8_t* field = frame.head.data() + info.l4_offset + (tcp ? kTcpChecksum : kUdpChecksum);
    store<uint16_t>(field, 0);
    auto value = static_cast<uint16_t>(~l4_sum(frame));
    if (!tcp && value == 0) value = 0xffff;  // 0 would mean "no checksum"
    store_be16(field, value);
  }
}

}  // namespace nearpool::connectx4
