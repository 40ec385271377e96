// SPDX-License-Identifier: BSD-3-Clause
// Frames that came without a checksum leave with one: from the device, or written here.
#include "datapath/checksum.hpp"

#include <rte_tcp.h>

#include "mbuf_frames.hpp"

namespace nearpool {
namespace {

constexpr uint64_t kLacksBoth = RTE_MBUF_F_RX_IP_CKSUM_NONE | RTE_MBUF_F_RX_L4_CKSUM_NONE;

struct Kind {
  bool ipv4;
  uint8_t protocol;
  unsigned tags;
  size_t l3() const { return 14 + 4 * tags; }
  size_t l4() const { return l3() + (ipv4 ? 20 : 40); }
  size_t field() const { return l4() + (protocol == IPPROTO_TCP ? 16 : 6); }
};
constexpr Kind kKinds[] = {{true, IPPROTO_TCP, 0},
                           {true, IPPROTO_UDP, 0},
                           {true, IPPROTO_UDP, 2},
                           {false, IPPROTO_TCP, 0},
                           {false, IPPROTO_UDP, 1}};

// With something in the place of the checksum, as the sender's sum of the pseudo-header would be.
Bytes bytes_for(const Kind& kind, size_t data) {
  Bytes bytes = ip_frame(kind.ipv4, kind.protocol, data, kind.tags);
  bytes[kind.field()] = 0x12;
  bytes[kind.field() + 1] = 0x34;
  return bytes;
}

class Checksum : public MbufFrames {
 protected:
  TxQueue offers_nothing_;
  TxQueue offers_all_;
  QueueCounters counters_;

  void SetUp() override {
    MbufFrames::SetUp();
    offers_all_.offloads = kTxChecksumOffloads;
  }
  void pass(const TxQueue& out, rte_mbuf* frame) { pass_checksums(out, counters_, &frame, 1); }

  // The sum over pseudo-header and datagram, checksum included, is all ones.
  static void expect_valid(const Bytes& bytes, const Kind& kind) {
    const void* l3 = bytes.data() + kind.l3();
    uint32_t sum = 0;
    size_t length = 0;
    if (kind.ipv4) {
      const auto* ip = static_cast<const rte_ipv4_hdr*>(l3);
      EXPECT_EQ(rte_raw_cksum(ip, 20), 0xffff);
      length = rte_be_to_cpu_16(ip->total_length) - 20u;
      sum = rte_ipv4_phdr_cksum(ip, 0);
    } else {
      const auto* ip = static_cast<const rte_ipv6_hdr*>(l3);
      length = rte_be_to_cpu_16(ip->payload_len);
      sum = rte_ipv6_phdr_cksum(ip, 0);
    }
    sum += rte_raw_cksum(bytes.data() + kind.l4(), length);
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
  }
};

TEST_F(Checksum, IsWrittenWhereTheDeviceOffersNone) {
  for (const Kind& kind : kKinds) {
    // Odd and even lengths; whole, and with the headers and the data cut.
    for (const size_t data : {0u, 1u, 99u, 100u}) {
      const Bytes before = bytes_for(kind, data);
      for (const std::vector<size_t>& cuts :
           {std::vector<size_t>{}, {kind.l3() + 1}, {13, kind.field() + 1}, {kind.l4()}}) {
        rte_mbuf* one = frame(before, cuts);
        one->ol_flags = kLacksBoth;
        pass(offers_nothing_, one);
        expect_valid(bytes_of(one), kind);
        EXPECT_EQ(one->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM), 0u);
        rte_pktmbuf_free(one);
      }
    }
  }
}

TEST_F(Checksum, IsAskedOfADeviceThatOffersIt) {
  for (const Kind& kind : kKinds) {
    rte_mbuf* one = frame(bytes_for(kind, 50));
    one->ol_flags = kLacksBoth;
    pass(offers_all_, one);
    const uint64_t l4 =
        kind.protocol == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    EXPECT_EQ(one->ol_flags & RTE_MBUF_F_TX_L4_MASK, l4);
    EXPECT_EQ((one->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0, kind.ipv4);
    EXPECT_EQ((one->ol_flags & RTE_MBUF_F_TX_IPV4) != 0, kind.ipv4);
    EXPECT_EQ((one->ol_flags & RTE_MBUF_F_TX_IPV6) != 0, !kind.ipv4);
    EXPECT_EQ(one->l2_len, kind.l3());
    EXPECT_EQ(one->l2_len + one->l3_len, kind.l4());
    // What the device has to find: the pseudo-header's sum, and no sum of the IP header.
    const Bytes bytes = bytes_of(one);
    uint16_t field;
    std::memcpy(&field, bytes.data() + kind.field(), sizeof field);
    const void* ip = bytes.data() + kind.l3();
    EXPECT_EQ(field, kind.ipv4 ? rte_ipv4_phdr_cksum(static_cast<const rte_ipv4_hdr*>(ip), 0)
                               : rte_ipv6_phdr_cksum(static_cast<const rte_ipv6_hdr*>(ip), 0));
    rte_pktmbuf_free(one);
  }
}

TEST_F(Checksum, HeadersInPiecesAreNotForADevice) {
  const Kind kind = kKinds[0];
  rte_mbuf* one = frame(bytes_for(kind, 50), {kind.field() + 1});
  one->ol_flags = kLacksBoth;
  pass(offers_all_, one);
  EXPECT_EQ(one->ol_flags & RTE_MBUF_F_TX_L4_MASK, 0u);
  expect_valid(bytes_of(one), kind);
  rte_pktmbuf_free(one);
}

TEST_F(Checksum, ARequestToAnotherDeviceIsHonoured) {
  const Kind kind = kKinds[0];
  for (const TxQueue* out : {&offers_nothing_, &offers_all_}) {
    rte_mbuf* one = frame(bytes_for(kind, 50));
    one->ol_flags = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
    pass(*out, one);
    EXPECT_EQ((one->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0, out == &offers_all_);
    EXPECT_EQ((one->ol_flags & RTE_MBUF_F_TX_IPV4) != 0, out == &offers_all_);
    if (out == &offers_nothing_) expect_valid(bytes_of(one), kind);
    rte_pktmbuf_free(one);
  }
}

TEST_F(Checksum, PaddingIsNoPartOfIt) {
  const Kind kind = kKinds[1];
  Bytes bytes = bytes_for(kind, 4);
  bytes.resize(60, 0xee);
  rte_mbuf* one = frame(bytes);
  one->ol_flags = kLacksBoth;
  pass(offers_nothing_, one);
  expect_valid(bytes_of(one), kind);
  rte_pktmbuf_free(one);
}

TEST_F(Checksum, FramesThatWantNoneStayAsTheyAre) {
  Bytes fragment = bytes_for(kKinds[1], 40);
  fragment[20] = 0x20;  // more fragments
  Bytes without = bytes_for(kKinds[1], 40);
  without[kKinds[1].field()] = without[kKinds[1].field() + 1] = 0;  // zero: a UDP frame needs none
  Bytes arp(60, 0);
  arp[12] = 0x08;
  arp[13] = 0x06;
  for (const Bytes& before : {fragment, without, arp, Bytes(14, 0), Bytes(40, 0x45)}) {
    rte_mbuf* one = frame(before);
    one->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_NONE;
    pass(offers_all_, one);
    EXPECT_EQ(bytes_of(one), before);
    EXPECT_EQ(one->ol_flags & RTE_MBUF_F_TX_L4_MASK, 0u);
    rte_pktmbuf_free(one);
  }
}

TEST_F(Checksum, GoodOnesAreLeftAloneAndBadOnesCounted) {
  const Bytes before = bytes_for(kKinds[0], 40);
  const uint64_t bad[] = {RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_L4_CKSUM_BAD,
                          RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD};
  const uint64_t good[] = {0, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                           RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD};
  for (const uint64_t flags : bad) {
    rte_mbuf* one = frame(before);
    one->ol_flags = flags;
    const uint64_t counted = counters_.bad_checksum.read();
    pass(offers_all_, one);
    EXPECT_EQ(counters_.bad_checksum.read(), counted + 1);
    EXPECT_EQ(bytes_of(one), before);
    EXPECT_EQ(one->ol_flags, flags);
    rte_pktmbuf_free(one);
  }
  const uint64_t counted = counters_.bad_checksum.read();
  for (const uint64_t flags : good) {
    rte_mbuf* one = frame(before);
    one->ol_flags = flags;
    pass(offers_all_, one);
    EXPECT_EQ(bytes_of(one), before);
    EXPECT_EQ(one->ol_flags, flags);
    rte_pktmbuf_free(one);
  }
  EXPECT_EQ(counters_.bad_checksum.read(), counted);
}

}  // namespace
}  // namespace nearpool
