// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/checksum.hpp"

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "datapath/frame.hpp"
#include "datapath/touch.hpp"

namespace nearpool {
namespace {

constexpr uint64_t kTxRequests = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;
constexpr uint64_t kTxTypes = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6;
constexpr uint64_t kMoreFragments = 0x3fff;  // of an IPv4 header: the offset, or more to come

// GOOD and BAD together say NONE: the checksum in the frame is not one, and the data is intact.
bool says(uint64_t flags, uint64_t mask, uint64_t value) {
  return (flags & mask) == value;
}

bool lacks_ip(uint64_t flags) {
  return says(flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_NONE) ||
         (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
}

bool lacks_l4(uint64_t flags) {
  return says(flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_NONE) ||
         (flags & RTE_MBUF_F_TX_L4_MASK) != 0;
}

bool is_bad(uint64_t flags) {
  return says(flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_BAD) ||
         says(flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_BAD);
}

// What one frame needs, worked out on a copy of its headers, which may lie in several segments.
class Checksums {
 public:
  explicit Checksums(rte_mbuf* frame) : frame_(frame) {
    const uint32_t readable = std::min<uint32_t>(frame->pkt_len, kParsedBytes);
    const void* bytes = rte_pktmbuf_read(frame, 0, readable, headers_);
    if (bytes == nullptr) return;
    if (bytes != headers_) std::memcpy(headers_, bytes, readable);
    parsed_ = parse_frame(headers_, readable, frame->pkt_len);
    l4_ = parsed_.l3_offset + parsed_.l3_length;
    find_field();
  }

  bool ipv4() const { return parsed_.kind == FrameKind::kIpv4; }
  // A UDP frame over IPv4 whose checksum is zero wants none.
  bool has_l4() const {
    return field_ != 0 && !(ipv4() && parsed_.protocol == IPPROTO_UDP && read_field() == 0);
  }
  uint64_t l4_offload() const {
    return parsed_.protocol == IPPROTO_TCP ? RTE_ETH_TX_OFFLOAD_TCP_CKSUM
                                           : RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  }

  // Drivers read and write the headers in the first segment only.
  bool in_one_piece() const { return frame_->data_len >= std::max(l4_, field_ + 2); }

  void ask(bool ip, bool l4) {
    frame_->l2_len = parsed_.l3_offset;
    frame_->l3_len = parsed_.l3_length;
    frame_->ol_flags |= ipv4() ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    if (ip) {
      frame_->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
      write(parsed_.l3_offset + offsetof(rte_ipv4_hdr, hdr_checksum), 0);
    }
    if (l4) {
      frame_->ol_flags |=
          parsed_.protocol == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
      write(field_, pseudo_header());  // what a device adds the data to
    }
  }

  void compute(bool ip, bool l4) {
    if (l4) {
      write(field_, 0);
      uint32_t sum = uint32_t{datagram_sum()} + pseudo_header();
      sum = (sum & 0xffff) + (sum >> 16);
      const auto value = static_cast<uint16_t>(~sum);
      // Zero would say that there is none.
      write(field_, value == 0 && parsed_.protocol == IPPROTO_UDP ? uint16_t{0xffff} : value);
    }
    if (ip) {
      auto* header = reinterpret_cast<rte_ipv4_hdr*>(headers_ + parsed_.l3_offset);
      header->hdr_checksum = 0;
      write(parsed_.l3_offset + offsetof(rte_ipv4_hdr, hdr_checksum), rte_ipv4_cksum(header));
    }
  }

 private:
  const rte_ipv4_hdr* header4() const {
    return reinterpret_cast<const rte_ipv4_hdr*>(headers_ + parsed_.l3_offset);
  }
  const rte_ipv6_hdr* header6() const {
    return reinterpret_cast<const rte_ipv6_hdr*>(headers_ + parsed_.l3_offset);
  }

  // Where the checksum of layer 4 is; none in fragments, in other protocols, in frames cut off.
  void find_field() {
    if (parsed_.kind != FrameKind::kIpv4 && parsed_.kind != FrameKind::kIpv6) return;
    if (ipv4() && (rte_be_to_cpu_16(header4()->fragment_offset) & kMoreFragments) != 0) return;
    if (parsed_.protocol == IPPROTO_TCP && datagram() >= sizeof(rte_tcp_hdr)) {
      field_ = l4_ + static_cast<uint32_t>(offsetof(rte_tcp_hdr, cksum));
    }
    if (parsed_.protocol == IPPROTO_UDP && datagram() >= sizeof(rte_udp_hdr)) {
      field_ = l4_ + static_cast<uint32_t>(offsetof(rte_udp_hdr, dgram_cksum));
    }
  }

  // Bytes of layer 4 with its header; parse_frame has held the lengths against the frame's.
  uint32_t datagram() const {
    return ipv4() ? rte_be_to_cpu_16(header4()->total_length) - uint32_t{parsed_.l3_length}
                  : rte_be_to_cpu_16(header6()->payload_len);
  }

  // Padding behind the datagram is no part of it. (rte_raw_cksum_mbuf() of DPDK 22.11 loses a carry
  // when a segment begins at an odd byte.)
  uint16_t datagram_sum() const {
    uint32_t skip = l4_;
    uint32_t left = datagram();
    uint32_t sum = 0;
    bool odd = false;
    for (const rte_mbuf* segment = frame_; segment != nullptr && left != 0;
         segment = segment->next) {
      if (skip >= segment->data_len) {
        skip -= segment->data_len;
        continue;
      }
      const uint32_t length = std::min(left, segment->data_len - skip);
      const uint16_t part =
          rte_raw_cksum(rte_pktmbuf_mtod_offset(segment, const uint8_t*, skip), length);
      sum += odd ? rte_bswap16(part) : part;
      sum = (sum & 0xffff) + (sum >> 16);
      odd ^= (length & 1) != 0;
      left -= length;
      skip = 0;
    }
    return static_cast<uint16_t>(sum);
  }

  uint16_t pseudo_header() const {
    return ipv4() ? rte_ipv4_phdr_cksum(header4(), 0) : rte_ipv6_phdr_cksum(header6(), 0);
  }

  uint16_t read_field() const {
    uint16_t copy = 0;
    const void* value = rte_pktmbuf_read(frame_, field_, sizeof copy, &copy);
    if (value != nullptr) std::memcpy(&copy, value, sizeof copy);
    return copy;
  }

  void write(uint32_t offset, uint16_t value) {
    uint8_t bytes[2];
    std::memcpy(bytes, &value, sizeof bytes);
    for (uint32_t i = 0; i < sizeof bytes; i++) {
      if (uint8_t* byte = byte_at(frame_, offset + i)) *byte = bytes[i];
    }
  }

  rte_mbuf* const frame_;
  alignas(8) uint8_t headers_[kParsedBytes];
  ParsedFrame parsed_;
  uint32_t l4_ = 0;
  uint32_t field_ = 0;  // 0: there is no checksum of layer 4
};

void pass_one(const TxQueue& out, rte_mbuf* frame) {
  const uint64_t flags = frame->ol_flags;
  // What was asked of another device is asked anew, of this one or of nobody.
  frame->ol_flags &= ~(kTxRequests | kTxTypes);
  Checksums checksums(frame);
  const bool ip = lacks_ip(flags) && checksums.ipv4();
  const bool l4 = lacks_l4(flags) && checksums.has_l4();
  uint64_t wanted = 0;
  if (ip) wanted |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
  if (l4) wanted |= checksums.l4_offload();
  if (wanted == 0) return;
  if ((out.offloads & wanted) == wanted && checksums.in_one_piece()) {
    checksums.ask(ip, l4);
  } else {
    checksums.compute(ip, l4);
  }
}

}  // namespace

void pass_checksums(const TxQueue& out, QueueCounters& counters, rte_mbuf** burst, unsigned count) {
  unsigned bad = 0;
  for (unsigned i = 0; i < count; i++) {
    const uint64_t flags = burst[i]->ol_flags;
    bad += is_bad(flags);
    if (lacks_ip(flags) || lacks_l4(flags)) [[unlikely]]
      pass_one(out, burst[i]);
  }
  if (bad != 0) counters.bad_checksum.add(bad);
}

}  // namespace nearpool
