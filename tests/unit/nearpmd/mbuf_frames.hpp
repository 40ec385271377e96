// SPDX-License-Identifier: BSD-3-Clause
// Frames in mbufs, cut into segments wherever a test likes.
#pragma once

#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <cstring>
#include <vector>

namespace nearpool {

using Bytes = std::vector<uint8_t>;

class MbufFrames : public testing::Test {
 protected:
  void SetUp() override {
    pool_ = rte_pktmbuf_pool_create("mbuf_frames", 255, 0, 0, 2176, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr) << rte_strerror(rte_errno);
  }
  void TearDown() override {
    EXPECT_TRUE(rte_mempool_full(pool_)) << "frames are missing";
    rte_mempool_free(pool_);
  }

  // Segments end at `cuts`, which ascend; two equal cuts make an empty segment.
  rte_mbuf* frame(const Bytes& bytes, const std::vector<size_t>& cuts = {}) {
    rte_mbuf* head = nullptr;
    rte_mbuf* tail = nullptr;
    size_t start = 0;
    for (size_t i = 0; i <= cuts.size(); i++) {
      const size_t end = i < cuts.size() ? cuts[i] : bytes.size();
      rte_mbuf* segment = rte_pktmbuf_alloc(pool_);
      void* room = rte_pktmbuf_append(segment, static_cast<uint16_t>(end - start));
      if (end != start) std::memcpy(room, bytes.data() + start, end - start);
      if (head == nullptr) {
        head = segment;
      } else {
        tail->next = segment;
        head->nb_segs++;
        head->pkt_len += segment->data_len;
      }
      tail = segment;
      start = end;
    }
    return head;
  }

  static Bytes bytes_of(const rte_mbuf* frame) {
    Bytes bytes;
    for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
      const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
      bytes.insert(bytes.end(), data, data + segment->data_len);
    }
    return bytes;
  }

 private:
  rte_mempool* pool_ = nullptr;
};

// Ethernet, `tags` VLAN tags, IPv4 or IPv6, TCP or UDP, `data` bytes. Checksums are zero.
inline Bytes ip_frame(bool ipv4, uint8_t protocol, size_t data, unsigned tags = 0) {
  Bytes bytes{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
  for (unsigned i = 0; i < tags; i++)
    bytes.insert(bytes.end(), {0x81, 0x00, 0x00, 0x07});
  bytes.push_back(ipv4 ? 0x08 : 0x86);
  bytes.push_back(ipv4 ? 0x00 : 0xdd);
  const size_t l4 = (protocol == IPPROTO_TCP ? 20 : 8) + data;
  if (ipv4) {
    rte_ipv4_hdr header{};
    header.version_ihl = 0x45;
    header.total_length = rte_cpu_to_be_16(static_cast<uint16_t>(20 + l4));
    header.time_to_live = 64;
    header.next_proto_id = protocol;
    header.src_addr = rte_cpu_to_be_32(RTE_IPV4(198, 18, 0, 1));
    header.dst_addr = rte_cpu_to_be_32(RTE_IPV4(198, 18, 0, 2));
    const auto* raw = reinterpret_cast<const uint8_t*>(&header);
    bytes.insert(bytes.end(), raw, raw + sizeof header);
  } else {
    rte_ipv6_hdr header{};
    header.vtc_flow = rte_cpu_to_be_32(0x60000000);
    header.payload_len = rte_cpu_to_be_16(static_cast<uint16_t>(l4));
    header.proto = protocol;
    header.hop_limits = 64;
    header.src_addr[15] = 1;
    header.dst_addr[15] = 2;
    const auto* raw = reinterpret_cast<const uint8_t*>(&header);
    bytes.insert(bytes.end(), raw, raw + sizeof header);
  }
  const size_t start = bytes.size();
  bytes.resize(start + l4);
  for (size_t i = start + l4 - data; i < bytes.size(); i++)
    bytes[i] = static_cast<uint8_t>(i * 7);
  bytes[start] = 0x30;
  bytes[start + 2] = 0x31;
  if (protocol == IPPROTO_TCP) {
    bytes[start + 12] = 0x50;
  } else {
    bytes[start + 4] = static_cast<uint8_t>(l4 >> 8);
    bytes[start + 5] = static_cast<uint8_t>(l4);
  }
  return bytes;
}

}  // namespace nearpool
