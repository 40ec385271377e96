// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/frame.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace nearpool {
namespace {

// Exactly `bytes.size()` bytes on the heap, so that a sanitizer sees a read beyond them.
ParsedFrame parse(const std::vector<uint8_t>& bytes, size_t length) {
  auto exact = std::make_unique<uint8_t[]>(bytes.size() + (bytes.empty() ? 1 : 0));
  std::copy(bytes.begin(), bytes.end(), exact.get());
  return parse_frame(exact.get(), bytes.size(), length);
}
ParsedFrame parse(const std::vector<uint8_t>& bytes) {
  return parse(bytes, bytes.size());
}

std::vector<uint8_t> ethernet(uint16_t type) {
  std::vector<uint8_t> bytes(12, 2);
  bytes.push_back(static_cast<uint8_t>(type >> 8));
  bytes.push_back(static_cast<uint8_t>(type));
  return bytes;
}

void append(std::vector<uint8_t>& bytes, std::initializer_list<uint8_t> more) {
  bytes.insert(bytes.end(), more);
}

// An IPv4 header of `words` 32-bit words for a datagram of `total` bytes.
void append_ipv4(std::vector<uint8_t>& bytes, uint8_t words, uint16_t total) {
  append(bytes, {static_cast<uint8_t>(0x40 | words),
                 0,
                 static_cast<uint8_t>(total >> 8),
                 static_cast<uint8_t>(total),
                 0,
                 0,
                 0,
                 0,
                 64,
                 17,
                 0,
                 0,
                 198,
                 18,
                 0,
                 1,
                 198,
                 18,
                 0,
                 2});
  for (int i = 5; i < words; i++)
    append(bytes, {1, 1, 1, 1});
}

TEST(Frame, ShorterThanAnEthernetHeaderIsARunt) {
  for (size_t size = 0; size < kEthernetHeader; size++) {
    EXPECT_EQ(parse(std::vector<uint8_t>(size, 0xff)).kind, FrameKind::kRunt) << size;
  }
  EXPECT_EQ(parse(std::vector<uint8_t>(kEthernetHeader, 0xff)).kind, FrameKind::kOther);
}

TEST(Frame, Ipv4) {
  auto bytes = ethernet(0x0800);
  append_ipv4(bytes, 5, 20);
  const ParsedFrame frame = parse(bytes);
  EXPECT_EQ(frame.kind, FrameKind::kIpv4);
  EXPECT_EQ(frame.l3_offset, 14);
  EXPECT_EQ(frame.l3_length, 20);
  EXPECT_EQ(frame.protocol, 17);
  EXPECT_EQ(frame.vlan_tags, 0);
}

TEST(Frame, Ipv4WithOptionsBehindTwoTags) {
  auto bytes = ethernet(0x88a8);
  append(bytes, {0, 1, 0x81, 0x00, 0, 2, 0x08, 0x00});
  append_ipv4(bytes, 15, 60);
  const ParsedFrame frame = parse(bytes);
  EXPECT_EQ(frame.kind, FrameKind::kIpv4);
  EXPECT_EQ(frame.vlan_tags, 2);
  EXPECT_EQ(frame.l3_offset, 22);
  EXPECT_EQ(frame.l3_length, 60);
  EXPECT_EQ(bytes.size(), kParsedBytes);
}

TEST(Frame, AThirdTagIsNotLookedInto) {
  auto bytes = ethernet(0x8100);
  append(bytes, {0, 1, 0x81, 0x00, 0, 2, 0x81, 0x00, 0, 3, 0x08, 0x00});
  const ParsedFrame frame = parse(bytes);
  EXPECT_EQ(frame.kind, FrameKind::kOther);
  EXPECT_EQ(frame.vlan_tags, 2);
}

TEST(Frame, HeadersCutOffAreMalformed) {
  auto tagged = ethernet(0x8100);
  append(tagged, {0, 1, 0x08, 0x00});
  append_ipv4(tagged, 5, 20);
  for (size_t size = kEthernetHeader; size < tagged.size(); size++) {
    const std::vector<uint8_t> cut(tagged.begin(), tagged.begin() + static_cast<long>(size));
    EXPECT_EQ(parse(cut).kind, FrameKind::kMalformed) << size;
  }
  EXPECT_EQ(parse(tagged).kind, FrameKind::kIpv4);
}

TEST(Frame, Ipv4LengthsThatLieAreMalformed) {
  const auto with = [](uint8_t words, uint16_t total) {
    auto bytes = ethernet(0x0800);
    append_ipv4(bytes, words, total);
    return parse(bytes).kind;
  };
  EXPECT_EQ(with(5, 20), FrameKind::kIpv4);
  EXPECT_EQ(with(5, 21), FrameKind::kMalformed);  // one byte more than there is
  EXPECT_EQ(with(5, 19), FrameKind::kMalformed);  // less than its own header
  EXPECT_EQ(with(4, 20), FrameKind::kMalformed);  // shorter than a header may be
  EXPECT_EQ(with(6, 20), FrameKind::kMalformed);  // less than its own options
}

TEST(Frame, TheWholeLengthCountsNotTheReadablePart) {
  auto bytes = ethernet(0x0800);
  append_ipv4(bytes, 5, 1500);
  EXPECT_EQ(parse(bytes, 1514).kind, FrameKind::kIpv4);
  EXPECT_EQ(parse(bytes, 1513).kind, FrameKind::kMalformed);
}

TEST(Frame, Ipv4OfAnotherVersionIsMalformed) {
  auto bytes = ethernet(0x0800);
  append_ipv4(bytes, 5, 20);
  bytes[14] = 0x65;
  EXPECT_EQ(parse(bytes).kind, FrameKind::kMalformed);
}

TEST(Frame, Ipv6) {
  auto bytes = ethernet(0x86dd);
  append(bytes, {0x60, 0, 0, 0, 0, 8, 17, 64});
  bytes.resize(kEthernetHeader + 40 + 8);
  EXPECT_EQ(parse(bytes).kind, FrameKind::kIpv6);
  EXPECT_EQ(parse(bytes).protocol, 17);
  EXPECT_EQ(parse(bytes).l3_length, 40);
  bytes.pop_back();
  EXPECT_EQ(parse(bytes).kind, FrameKind::kMalformed);  // payload longer than the frame
  bytes[14] = 0x40;
  bytes.push_back(0);
  EXPECT_EQ(parse(bytes).kind, FrameKind::kMalformed);  // another version
}

}  // namespace
}  // namespace nearpool
