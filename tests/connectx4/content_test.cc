// SPDX-License-Identifier: BSD-3-Clause
// Each frame that goes in comes out, byte for byte, in each of the PMD's receive functions. The
// variable CONNECTX4_TEST_RX says what the function's name must contain.
#include <gtest/gtest.h>
#include <rte_ip.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "frames.hpp"
#include "pmd_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class Content : public Pmd {
 protected:
  void expect_mode() {
    const char* arguments = std::getenv("CONNECTX4_TEST_DEVARGS");
    if (arguments != nullptr && std::strstr(arguments, "txq_inline_max") != nullptr) {
      EXPECT_NE(tx_mode().find("INLINE"), std::string::npos) << tx_mode();
    }
    const char* mode = std::getenv("CONNECTX4_TEST_RX");
    if (mode == nullptr) return;
    EXPECT_NE(rx_mode().find(mode), std::string::npos) << rx_mode();
  }

  static Outgoing random_frame(std::mt19937& random, uint32_t number, uint32_t longest) {
    Outgoing frame;
    // Short ones and the longest are of most interest.
    const uint32_t choice = random() % 8;
    const uint32_t length = choice == 0   ? 60
                            : choice == 1 ? 64
                            : choice == 2 ? longest
                            : choice == 3 ? 60 + random() % 80
                                          : 60 + random() % (longest - 59);
    frame.bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    for (int shift = 24; shift >= 0; shift -= 8) {
      frame.bytes.push_back(static_cast<uint8_t>(number >> shift));
    }
    while (frame.bytes.size() < length)
      frame.bytes.push_back(static_cast<uint8_t>(random()));
    const uint32_t segments = 1 + random() % 5;
    for (uint32_t i = 1; i < segments; ++i) {
      // The first cut may fall into the headers.
      frame.cuts.push_back(i == 1 && random() % 3 == 0 ? 1 + random() % 20
                                                       : 1 + random() % (length / segments));
    }
    return frame;
  }

  void exchange(uint32_t count, uint32_t longest, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Outgoing> frames;
    for (uint32_t i = 0; i < count; ++i)
      frames.push_back(random_frame(random, i, longest));
    const std::vector<Incoming> arrived = pass(frames);
    ASSERT_EQ(arrived.size(), frames.size());
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(arrived[i].bytes, frames[i].bytes) << "frame " << i;
      ASSERT_EQ(arrived[i].flags & RTE_MBUF_F_RX_IP_CKSUM_BAD, 0u);
    }
  }
};

TEST_F(Content, EachLengthOnce) {
  start({});
  expect_mode();
  std::vector<Outgoing> frames;
  for (uint32_t length = 60; length <= 1514; ++length) {
    std::vector<uint8_t> bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    while (bytes.size() < length)
      bytes.push_back(static_cast<uint8_t>(bytes.size() * 11 + length));
    frames.push_back({.bytes = bytes});
  }
  const std::vector<Incoming> arrived = pass(frames);
  ASSERT_EQ(arrived.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i)
    ASSERT_EQ(arrived[i].bytes, frames[i].bytes) << i;
}

TEST_F(Content, OneToFiveSegments) {
  start({});
  expect_mode();
  ASSERT_NO_FATAL_FAILURE(exchange(20000, 1514, 1));
}

TEST_F(Content, AsManySegmentsAsOffered) {
  start({});
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(0, &info), 0);
  const uint32_t most = info.tx_desc_lim.nb_mtu_seg_max;
  ASSERT_GE(most, 5u);
  std::vector<Outgoing> frames;
  for (uint32_t segments = 1; segments <= most; ++segments) {
    Outgoing frame;
    frame.bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    while (frame.bytes.size() < 1400)
      frame.bytes.push_back(static_cast<uint8_t>(frame.bytes.size() * 5 + segments));
    frame.cuts.assign(segments - 1, 33);
    frames.push_back(frame);
  }
  const std::vector<Incoming> arrived = pass(frames);
  ASSERT_EQ(arrived.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i)
    ASSERT_EQ(arrived[i].bytes, frames[i].bytes) << i + 1 << " segments";
}

TEST_F(Content, ShortFramesArePadded) {
  start({});
  Outgoing frame{.bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 1, 2, 3, 4, 5, 6}};
  std::vector<uint8_t> padded = frame.bytes;
  padded.resize(60);
  EXPECT_EQ(pass_one(frame).bytes, padded);
}

TEST_F(Content, JumboFramesAreScattered) {
  PortWish wish;
  wish.mtu = 9000;
  wish.rx_offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
  start(wish);
  ASSERT_NO_FATAL_FAILURE(exchange(5000, 9014, 2));
}

TEST_F(Content, ChecksumsAreWrittenAndChecked) {
  start({});
  std::vector<Outgoing> frames;
  std::vector<std::vector<uint8_t>> expected;
  std::vector<bool> tcp;
  for (const bool v6 : {false, true}) {
    for (const bool is_tcp : {false, true}) {
      for (const uint32_t payload : {18u, 19u, 100u, 101u, 1000u, 1400u}) {
        FrameWish wish;
        if (v6) wish.source = "fd00::1", wish.destination = "fd00::2";
        wish.tcp = is_tcp;
        wish.payload = payload;
        const BuiltFrame good = build_frame(wish);
        BuiltFrame bare = good;
        Outgoing frame;
        frame.flags = is_tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
        frame.flags |= v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
        frame.l3_length = v6 ? 40 : 20;
        const uint32_t field = bare.l4 + l4_checksum_offset(is_tcp);
        bare.bytes[field] = bare.bytes[field + 1] = 0;
        if (!v6) bare.bytes[bare.l3 + 10] = bare.bytes[bare.l3 + 11] = 0;
        frame.bytes = bare.bytes;
        if (payload > 500) frame.cuts = {50, 301};
        frames.push_back(frame);
        expected.push_back(good.bytes);
        tcp.push_back(is_tcp);
      }
    }
  }
  const std::vector<Incoming> arrived = pass(frames);
  ASSERT_EQ(arrived.size(), frames.size());
  for (size_t i = 0; i < arrived.size(); ++i) {
    EXPECT_EQ(arrived[i].bytes, expected[i]) << i;
    EXPECT_EQ(arrived[i].flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD) << i;
    EXPECT_EQ(arrived[i].flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD) << i;
    EXPECT_EQ(arrived[i].packet_type & RTE_PTYPE_L4_MASK,
              static_cast<uint32_t>(tcp[i] ? RTE_PTYPE_L4_TCP : RTE_PTYPE_L4_UDP))
        << i;
    EXPECT_EQ(RTE_ETH_IS_IPV6_HDR(arrived[i].packet_type) != 0, i >= frames.size() / 2) << i;
  }
}

TEST_F(Content, BadChecksumsAreFlagged) {
  start({});
  const BuiltFrame good = build_frame({.payload = 100});
  BuiltFrame bad_l4 = good;
  bad_l4.bytes[good.l4 + 50] ^= 1;
  BuiltFrame bad_l3 = good;
  bad_l3.bytes[good.l3 + 8] ^= 1;
  const auto arrived =
      pass({{.bytes = good.bytes}, {.bytes = bad_l4.bytes}, {.bytes = bad_l3.bytes}});
  ASSERT_EQ(arrived.size(), 3u);
  EXPECT_EQ(arrived[0].flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  EXPECT_EQ(arrived[1].flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD);
  // The PMD never says BAD: it leaves GOOD away.
  EXPECT_NE(arrived[1].flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  EXPECT_NE(arrived[2].flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD);
}

TEST_F(Content, VlanTagsAreStrippedAndInserted) {
  PortWish wish;
  wish.rx_offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  start(wish);
  FrameWish tagged;
  tagged.vlan = 0x6123;
  tagged.payload = 200;
  FrameWish untagged = tagged;
  untagged.vlan = -1;
  const auto plain = build_frame(untagged).bytes;
  const Incoming stripped = pass_one({.bytes = build_frame(tagged).bytes});
  EXPECT_EQ(stripped.bytes, plain);
  EXPECT_EQ(stripped.vlan, 0x6123);
  EXPECT_NE(stripped.flags & RTE_MBUF_F_RX_VLAN_STRIPPED, 0u);
  EXPECT_EQ(stripped.flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  // The other way round: the driver inserts it, the far end strips it.
  const Incoming inserted = pass_one({.bytes = plain, .flags = RTE_MBUF_F_TX_VLAN, .vlan = 0x0abc});
  EXPECT_EQ(inserted.bytes, plain);
  EXPECT_EQ(inserted.vlan, 0x0abc);
  const Incoming none = pass_one({.bytes = plain});
  EXPECT_EQ(none.flags & RTE_MBUF_F_RX_VLAN_STRIPPED, 0u);
}

TEST_F(Content, VlanTagsStayWithoutStripping) {
  start({});
  FrameWish tagged;
  tagged.vlan = 0x6123;
  const auto bytes = build_frame(tagged).bytes;
  EXPECT_EQ(pass_one({.bytes = bytes}).bytes, bytes);
}

}  // namespace
}  // namespace nearpool::connectx4::test
