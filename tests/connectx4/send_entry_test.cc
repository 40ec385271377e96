// SPDX-License-Identifier: BSD-3-Clause
#include "device/send_entry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <thread>

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kUnits = 8;
constexpr uint32_t kKey = 0x1234;

// A ring, and a pen that writes entries into it byte by byte over its end.
class SendEntry : public ::testing::Test {
 protected:
  void begin(uint16_t index, uint8_t opcode, uint32_t segments, uint8_t completion = 0) {
    index_ = index;
    put32(kSendOpcode, static_cast<uint32_t>(index) << 8 | opcode);
    put32(kSendQueueAndSize, 0x77u << 8 | segments);
    put(kSendCompletionMode, static_cast<uint8_t>(completion << 2));
  }
  void put(uint32_t offset, uint8_t value) {
    ring_[(index_ * kWqeUnit + offset) % ring_.size()] = value;
  }
  void put16(uint32_t offset, uint32_t value) {
    put(offset, static_cast<uint8_t>(value >> 8));
    put(offset + 1, static_cast<uint8_t>(value));
  }
  void put32(uint32_t offset, uint32_t value) {
    put16(offset, value >> 16);
    put16(offset + 2, value & 0xffff);
  }
  void put_bytes(uint32_t offset, const std::vector<uint8_t>& bytes) {
    for (uint32_t i = 0; i < bytes.size(); ++i)
      put(offset + i, bytes[i]);
  }
  void put_data(uint32_t offset, const std::vector<uint8_t>& bytes, uint32_t key = kKey) {
    put32(offset, static_cast<uint32_t>(bytes.size()));
    put32(offset + 4, key);
    const auto address = reinterpret_cast<uint64_t>(bytes.data());
    put32(offset + 8, static_cast<uint32_t>(address >> 32));
    put32(offset + 12, static_cast<uint32_t>(address));
  }
  EntryStatus read() {
    const SendRing ring{ring_.data(), kUnits};
    return read_send_entry(
        ring, index_, frame_, segments_.data(), [](uint32_t key, uint64_t address, uint32_t) {
          return key == kKey ? reinterpret_cast<const uint8_t*>(address) : nullptr;
        });
  }
  std::vector<uint8_t> bytes() {
    frame_.gather_head();
    std::vector<uint8_t> all(frame_.length);
    FrameReader(frame_).read(all.data(), frame_.length);
    return all;
  }

  std::vector<uint8_t> ring_ = std::vector<uint8_t>(kUnits * kWqeUnit);
  uint16_t index_ = 0;
  Frame frame_;
  std::array<Segment, kMostSegments> segments_{};
};

std::vector<uint8_t> pattern(uint32_t length, uint32_t seed) {
  std::vector<uint8_t> bytes(length);
  for (uint32_t i = 0; i < length; ++i)
    bytes[i] = static_cast<uint8_t>(i * 13 + seed);
  return bytes;
}

std::vector<uint8_t> operator+(std::vector<uint8_t> a, const std::vector<uint8_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(SendEntry, InlineHeaderAndData) {
  const auto header = pattern(18, 1);
  const auto first = pattern(46, 2);
  const auto second = pattern(300, 3);
  for (const uint16_t index : {0, 3, 7, 15, 65535}) {
    begin(index, kOpcodeSend, 5, 2);
    put16(kSendInlineHeaderSize, 18);
    put_bytes(kSendInlineHeader, header);
    put_data(48, first);
    put_data(64, second);
    ASSERT_EQ(read(), EntryStatus::kFrame);
    EXPECT_EQ(frame_.wqe_units, 2);
    EXPECT_EQ(frame_.wqe_index, index);
    EXPECT_TRUE(frame_.completion_wanted);
    EXPECT_EQ(bytes(), header + first + second);
  }
}

TEST_F(SendEntry, InlineDataOverTheRingsEnd) {
  // Unit 7 is the last: the data go on at the ring's beginning.
  const auto header = pattern(18, 1);
  const auto data = pattern(100, 2);
  begin(7, kOpcodeSend, 3 + 7);
  put16(kSendInlineHeaderSize, 18);
  put_bytes(kSendInlineHeader, header);
  put32(48, kInlineData | 100);
  put_bytes(52, data);
  ASSERT_EQ(read(), EntryStatus::kFrame);
  EXPECT_EQ(frame_.segment_count, 3);
  EXPECT_EQ(bytes(), header + data);
}

TEST_F(SendEntry, ChecksumFlagsAndCompletionModes) {
  const auto data = pattern(60, 1);
  for (const uint8_t mode : {0, 1, 2, 3}) {
    begin(0, kOpcodeSend, 3, mode);
    put16(kSendInlineHeaderSize, 0);
    put(kSendChecksumFlags, kChecksumL3 | kChecksumL4);
    put_data(32, data);
    ASSERT_EQ(read(), EntryStatus::kFrame);
    EXPECT_EQ(frame_.completion_wanted, mode >= 2);
    EXPECT_EQ(frame_.checksum_request, kChecksumL3 | kChecksumL4);
    EXPECT_EQ(bytes(), data);
  }
}

TEST_F(SendEntry, ForeignMemoryIsRefused) {
  const auto data = pattern(60, 1);
  begin(0, kOpcodeSend, 4);
  put_data(32, data);
  put_data(48, data, kKey + 1);
  EXPECT_EQ(read(), EntryStatus::kProtection);
}

TEST_F(SendEntry, NonsenseIsRefused) {
  const auto data = pattern(60, 1);
  begin(0, kOpcodeNop, 1);
  EXPECT_EQ(read(), EntryStatus::kNop);
  begin(0, 0x0e, 3);  // segmentation: not offered
  put_data(32, data);
  EXPECT_EQ(read(), EntryStatus::kMalformed);
  begin(0, kOpcodeSend, 1);  // no room for the Ethernet segment
  EXPECT_EQ(read(), EntryStatus::kMalformed);
  begin(0, kOpcodeSend, 2);  // a header that goes on behind the entry
  put16(kSendInlineHeaderSize, 100);
  EXPECT_EQ(read(), EntryStatus::kMalformed);
  begin(0, kOpcodeSend, 3);  // inline data longer than the entry
  put16(kSendInlineHeaderSize, 0);
  put32(32, kInlineData | 13);
  EXPECT_EQ(read(), EntryStatus::kMalformed);
  begin(0, kOpcodeSend, 3);  // too short for a frame
  put_data(32, pattern(13, 0));
  EXPECT_EQ(read(), EntryStatus::kMalformed);
  begin(0, kOpcodeSend, 60);  // longer than the ring
  EXPECT_EQ(read(), EntryStatus::kMalformed);
}

TEST_F(SendEntry, AnyBytesStayInsideTheRing) {
  std::mt19937 random(5);
  for (int round = 0; round < 50000; ++round) {
    for (uint8_t& byte : ring_)
      byte = static_cast<uint8_t>(random());
    index_ = static_cast<uint16_t>(random());
    put(kSendOpcode + 3, kOpcodeSend);
    if (random() % 2 == 0) put16(kSendInlineHeaderSize, random() % 40);
    if (read() != EntryStatus::kFrame) continue;
    ASSERT_LE(frame_.segment_count, kMostSegments);
    const uint8_t* end = ring_.data() + ring_.size();
    for (uint32_t i = 0; i < frame_.segment_count; ++i) {
      ASSERT_GE(segments_[i].data, ring_.data());
      ASSERT_LE(segments_[i].data + segments_[i].length, end);
    }
  }
}

// A size that changes between two looks at it: a program may write its ring at any time.
TEST_F(SendEntry, ASizeThatChangesMeanwhile) {
  ring_ = std::vector<uint8_t>(kWqeUnit);
  begin(0, kOpcodeSend, 3);
  put16(kSendInlineHeaderSize, 0);
  put32(32, kInlineData | 700);
  auto* size = reinterpret_cast<uint32_t*>(ring_.data() + kSendQueueAndSize);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done.load(std::memory_order_relaxed)) {
      for (const uint32_t segments : {4u, 60u}) {
        std::atomic_ref<uint32_t>(*size).store(swap32(0x77u << 8 | segments),
                                               std::memory_order_relaxed);
      }
    }
  });
  const SendRing ring{ring_.data(), 1};
  const uint8_t* end = ring_.data() + ring_.size();
  bool inside = true;
  // For so long, since both have to run at the same time.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (inside && std::chrono::steady_clock::now() < until) {
    frame_.segment_count = 0;
    read_send_entry(ring, 0, frame_, segments_.data(),
                    [](uint32_t, uint64_t, uint32_t) -> const uint8_t* { return nullptr; });
    for (uint32_t i = 0; i < frame_.segment_count; ++i) {
      inside = inside && segments_[i].data >= ring_.data() &&
               segments_[i].data + segments_[i].length <= end;
    }
  }
  done = true;
  writer.join();
  EXPECT_TRUE(inside);
}

}  // namespace
}  // namespace nearpool::connectx4
