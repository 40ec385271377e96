// SPDX-License-Identifier: BSD-3-Clause
#include "device/checksum.hpp"

#include <gtest/gtest.h>

#include <random>

#include "device_frame.hpp"
#include "frames.hpp"

namespace nearpool::connectx4 {
namespace {

using test::build_frame;
using test::BuiltFrame;
using test::DeviceFrame;
using test::FrameWish;

std::vector<FrameWish> wishes() {
  std::vector<FrameWish> all;
  for (const bool v6 : {false, true}) {
    for (const bool tcp : {false, true}) {
      for (const int vlan : {-1, 5}) {
        for (const uint32_t payload : {0u, 1u, 6u, 18u, 81u, 82u, 83u, 600u, 1459u, 8900u}) {
          FrameWish wish;
          if (v6) wish.source = "fd00::1", wish.destination = "fd00::2";
          wish.tcp = tcp;
          wish.vlan = vlan;
          wish.payload = payload;
          all.push_back(wish);
        }
      }
    }
  }
  FrameWish options;
  options.ip_options = 40;
  all.push_back(options);
  return all;
}

const std::vector<std::vector<uint32_t>> kCuts = {{}, {14}, {18}, {1, 2, 3}, {33, 60, 7}, {127, 1}};

TEST(Checksum, SumDoesNotDependOnCuts) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(301);
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>(random());
  const auto expected = static_cast<uint16_t>(~test::plain_checksum(bytes));
  for (uint32_t first = 0; first < bytes.size(); ++first) {
    ChecksumSum sum;
    sum.add(bytes.data(), first);
    sum.add(bytes.data() + first, static_cast<uint32_t>(bytes.size()) - first);
    ASSERT_EQ(sum.folded(), expected) << "cut at " << first;
  }
}

TEST(Checksum, GoodFramesAreGood) {
  for (const FrameWish& wish : wishes()) {
    const BuiltFrame built = build_frame(wish);
    for (const auto& cuts : kCuts) {
      DeviceFrame frame(built.bytes, cuts);
      const ChecksumStatus status = verify_checksums(frame.get());
      EXPECT_TRUE(status.l3_ok && status.l4_ok) << wish.source << " payload " << wish.payload;
    }
  }
}

TEST(Checksum, EachFlippedBitIsSeen) {
  FrameWish wish;
  wish.tcp = true;
  wish.payload = 200;
  const BuiltFrame built = build_frame(wish);
  for (uint32_t byte = built.l4; byte < built.bytes.size(); ++byte) {
    BuiltFrame broken = built;
    broken.bytes[byte] ^= 0x10;
    if (byte == built.l4 + 12) continue;  // the header length: not a TCP header any more
    DeviceFrame frame(broken.bytes, {18});
    const ChecksumStatus status = verify_checksums(frame.get());
    ASSERT_TRUE(status.l3_ok) << byte;
    ASSERT_FALSE(status.l4_ok) << byte;
  }
  BuiltFrame broken = built;
  broken.bytes[built.l3 + 8] ^= 1;  // time to live
  EXPECT_FALSE(verify_checksums(DeviceFrame(broken.bytes).get()).l3_ok);
}

TEST(Checksum, UdpWithoutChecksumIsGoodOverIpv4Only) {
  FrameWish wish;
  wish.checksums = false;
  EXPECT_TRUE(verify_checksums(DeviceFrame(build_frame(wish).bytes).get()).l4_ok);
  wish.source = "fd00::1";
  wish.destination = "fd00::2";
  EXPECT_FALSE(verify_checksums(DeviceFrame(build_frame(wish).bytes).get()).l4_ok);
}

TEST(Checksum, FillGivesWhatTheReferenceGives) {
  for (FrameWish wish : wishes()) {
    const BuiltFrame expected = build_frame(wish);
    BuiltFrame bare = expected;
    // Whatever the program left in the fields must not count.
    const uint32_t field = bare.l4 + test::l4_checksum_offset(wish.tcp);
    bare.bytes[field] = 0x12;
    bare.bytes[field + 1] = 0x34;
    if (bare.l4 - bare.l3 != 40) bare.bytes[bare.l3 + 10] = 0x77;
    for (const auto& cuts : kCuts) {
      DeviceFrame frame(bare.bytes, cuts);
      fill_checksums(frame.get(), true, true);
      ASSERT_EQ(frame.all(), expected.bytes) << wish.source << " payload " << wish.payload;
    }
  }
}

TEST(Checksum, NothingIsFilledThatIsNotThere) {
  FrameWish wish;
  wish.ether = 0x88b5;
  const auto bytes = build_frame(wish).bytes;
  DeviceFrame frame(bytes);
  fill_checksums(frame.get(), true, true);
  EXPECT_EQ(frame.all(), bytes);
  FrameWish fragment;
  fragment.fragment = 0x2000;
  fragment.payload = 100;
  BuiltFrame part = build_frame(fragment);
  DeviceFrame cut(part.bytes);
  fill_checksums(cut.get(), false, true);
  EXPECT_EQ(cut.all(), part.bytes);
}

}  // namespace
}  // namespace nearpool::connectx4
