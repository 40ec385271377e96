// SPDX-License-Identifier: BSD-3-Clause
#include "device/packet_info.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "frames.hpp"

namespace nearpool::connectx4 {
namespace {

using test::build_frame;
using test::FrameWish;

PacketInfo parse(const std::vector<uint8_t>& bytes, uint32_t frame_length = 0) {
  const auto length = static_cast<uint32_t>(bytes.size());
  // A copy of exactly this size, so that the sanitizers see a byte read too many.
  const auto copy = std::make_unique<uint8_t[]>(length);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return parse_packet(copy.get(), length, std::max(length, frame_length));
}

TEST(PacketInfo, FindsEachLayer) {
  FrameWish wish;
  PacketInfo info = parse(build_frame(wish).bytes);
  EXPECT_EQ(info.l3, L3::kIpv4);
  EXPECT_EQ(info.l4, L4::kUdp);
  EXPECT_EQ(info.l3_offset, 14);
  EXPECT_EQ(info.l4_offset, 34);
  EXPECT_EQ(info.l4_length, 8u + 18u);
  EXPECT_FALSE(info.c_vlan);

  wish.vlan = 0x6123;
  wish.tcp = true;
  wish.source = "fd00::1";
  wish.destination = "fd00::2";
  info = parse(build_frame(wish).bytes);
  EXPECT_EQ(info.l3, L3::kIpv6);
  EXPECT_EQ(info.l4, L4::kTcp);
  EXPECT_TRUE(info.c_vlan);
  EXPECT_EQ(info.vlan_tag, 0x6123);
  EXPECT_EQ(info.ethertype, 0x86dd);
  EXPECT_EQ(info.l3_offset, 18);
  EXPECT_EQ(info.l4_offset, 58);
}

TEST(PacketInfo, FragmentsHaveNoL4) {
  for (const uint16_t field : {0x2000, 0x0001, 0x3fff}) {
    FrameWish wish;
    wish.fragment = field;
    const PacketInfo info = parse(build_frame(wish).bytes);
    EXPECT_EQ(info.l3, L3::kIpv4);
    EXPECT_TRUE(info.fragment);
    EXPECT_EQ(info.l4, L4::kNone);
  }
  FrameWish whole;
  whole.fragment = 0x4000;  // don't fragment
  EXPECT_FALSE(parse(build_frame(whole).bytes).fragment);
}

TEST(PacketInfo, PaddingIsNotPayload) {
  auto bytes = build_frame(FrameWish{.payload = 2}).bytes;
  bytes.resize(60);
  EXPECT_EQ(parse(bytes).l4_length, 10u);
}

TEST(PacketInfo, EveryPrefixIsParsedWithinItself) {
  for (const char* source : {"10.0.0.1", "fd00::1"}) {
    FrameWish wish;
    wish.source = source;
    if (wish.source == "fd00::1") wish.destination = "fd00::2";
    wish.tcp = true;
    wish.vlan = 1;
    const auto whole = build_frame(wish);
    for (size_t length = 0; length < whole.l4 + 20; ++length) {
      const std::vector<uint8_t> prefix(whole.bytes.begin(),
                                        whole.bytes.begin() + static_cast<long>(length));
      EXPECT_EQ(parse(prefix, static_cast<uint32_t>(whole.bytes.size())).l4, L4::kNone) << length;
    }
  }
}

TEST(PacketInfo, LengthsBeyondTheFrameEndTheParse) {
  const auto good = build_frame(FrameWish{});
  auto bytes = good.bytes;
  bytes[good.l3 + 3] = 200;  // IPv4 total length
  EXPECT_EQ(parse(bytes).l3, L3::kNone);
  bytes = good.bytes;
  bytes[good.l4 + 5] = 200;  // UDP length
  EXPECT_EQ(parse(bytes).l3, L3::kIpv4);
  EXPECT_EQ(parse(bytes).l4, L4::kNone);
  bytes = good.bytes;
  bytes[good.l3] = 0x44;  // header of 16 bytes
  EXPECT_EQ(parse(bytes).l3, L3::kNone);
}

TEST(PacketInfo, AnyBytesStayInside) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 129);
    for (uint8_t& byte : bytes)
      byte = static_cast<uint8_t>(random());
    if (bytes.size() > 20) {
      const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x88a8};
      const uint16_t type = types[random() % 4];
      bytes[12] = static_cast<uint8_t>(type >> 8);
      bytes[13] = static_cast<uint8_t>(type);
      bytes[14] = random() % 2 == 0 ? 0x45 : 0x60;
    }
    const PacketInfo info = parse(bytes);
    if (info.l4 == L4::kNone) continue;
    EXPECT_LE(info.l4_offset + info.l4_length, bytes.size());
  }
}

}  // namespace
}  // namespace nearpool::connectx4
