// SPDX-License-Identifier: BSD-3-Clause
#include "rss_queue.hpp"

#include "formats.hpp"

namespace nearpool::connectx4 {
namespace {

// The hash input, gathered field by field in the order of the specification.
struct HashInput {
  std::array<uint8_t, Toeplitz::kMostInput> bytes;
  uint32_t length = 0;

  template <uint32_t kBytes>
  void add_if(bool wanted, const uint8_t* from) {
    if (!wanted) return;
    copy_fixed<kBytes>(bytes.data() + length, from);
    length += kBytes;
  }
};

}  // namespace

void RssQueue::pick(Frame& frame) const {
  frame.hash = 0;
  frame.hash_type = 0;
  const PacketInfo& info = frame.info;
  if (fields_ != 0 && info.l3 != L3::kNone) {
    HashInput input;
    const uint8_t* l3 = frame.head.data() + info.l3_offset;
    if (info.l3 == L3::kIpv4) {
      input.add_if<4>((fields_ & IBV_RX_HASH_SRC_IPV4) != 0, l3 + 12);
      input.add_if<4>((fields_ & IBV_RX_HASH_DST_IPV4) != 0, l3 + 16);
      if (input.length != 0) frame.hash_type = kHashedIpv4;
    } else {
      input.add_if<16>((fields_ & IBV_RX_HASH_SRC_IPV6) != 0, l3 + 8);
      input.add_if<16>((fields_ & IBV_RX_HASH_DST_IPV6) != 0, l3 + 24);
      if (input.length != 0) frame.hash_type = kHashedIpv6;
    }
    if (info.l4 != L4::kNone) {
      const bool tcp = info.l4 == L4::kTcp;
      const uint64_t source = tcp ? IBV_RX_HASH_SRC_PORT_TCP : IBV_RX_HASH_SRC_PORT_UDP;
      const uint64_t destination = tcp ? IBV_RX_HASH_DST_PORT_TCP : IBV_RX_HASH_DST_PORT_UDP;
      const uint8_t* l4 = frame.head.data() + info.l4_offset;
      input.add_if<2>((fields_ & source) != 0, l4);
      input.add_if<2>((fields_ & destination) != 0, l4 + 2);
      if ((fields_ & (source | destination)) != 0) {
        frame.hash_type = static_cast<uint8_t>(frame.hash_type | (tcp ? kHashedTcp : kHashedUdp));
      }
    }
    if (input.length != 0) frame.hash = toeplitz_.hash(input.bytes.data(), input.length);
  }
  const auto& queues = table_->queues;
  frame.queue = queues[frame.hash & (queues.size() - 1)];
}

}  // namespace nearpool::connectx4
