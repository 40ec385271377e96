// SPDX-License-Identifier: BSD-3-Clause
#include "device/steering.hpp"

#include <gtest/gtest.h>

#include "device/rss_queue.hpp"
#include "device_frame.hpp"
#include "frames.hpp"

namespace nearpool::connectx4 {
namespace {

using test::build_frame;
using test::DeviceFrame;
using test::FrameWish;

class Steering : public ::testing::Test {
 protected:
  Steering() {
    // Addresses that are compared only: no queue is used here.
    for (size_t i = 0; i < 4; ++i)
      table_of_queues_.queues.push_back(queue(i));
    rss_ = std::make_unique<RssQueue>(&table_of_queues_, test::kRssKey.data(),
                                      IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
  }
  ReceiveQueue* queue(size_t i) { return reinterpret_cast<ReceiveQueue*>(&places_[i]); }

  SteeringRule rule(uint32_t priority, Verdict verdict = Verdict::kQueue) {
    SteeringRule made;
    made.priority = priority;
    made.verdict = verdict;
    made.target = rss_.get();
    return made;
  }
  static void match(SteeringRule& rule, uint32_t offset, std::vector<uint8_t> value,
                    uint8_t mask = 0xff) {
    for (const uint8_t byte : value) {
      rule.mask.bytes[offset] = mask;
      rule.value.bytes[offset] = byte;
      ++offset;
    }
  }
  Verdict classify(const FrameWish& wish) {
    frame_ = std::make_unique<DeviceFrame>(build_frame(wish).bytes);
    return table_.classify(frame_->get());
  }

  alignas(64) std::array<uint64_t, 4> places_{};
  IndirectionTable table_of_queues_;
  std::unique_ptr<RssQueue> rss_;
  SteeringTable table_;
  std::unique_ptr<DeviceFrame> frame_;
};

TEST_F(Steering, NothingMatchesWithoutRules) {
  EXPECT_EQ(classify({}), Verdict::kMiss);
}

TEST_F(Steering, EachFieldMatchesAlone) {
  struct Case {
    uint32_t offset;
    std::vector<uint8_t> value;
    FrameWish hit;
    FrameWish miss;
  };
  FrameWish v6;
  v6.source = "fd00::1";
  v6.destination = "fd00::2";
  FrameWish tcp;
  tcp.tcp = true;
  FrameWish tagged;
  tagged.vlan = 0x0123;
  FrameWish other_mac;
  other_mac.destination_mac = {2, 0, 0, 0, 0, 9};
  FrameWish other_port;
  other_port.destination_port = 2001;
  FrameWish other_address;
  other_address.destination = "10.0.0.3";
  const std::vector<Case> cases = {
      {MatchKey::kDestinationMac, {2, 0, 0, 0, 0, 2}, {}, other_mac},
      {MatchKey::kSourceMac, {2, 0, 0, 0, 0, 1}, {}, {.source_mac = {2, 0, 0, 0, 0, 7}}},
      {MatchKey::kEthertype, {0x86, 0xdd}, v6, {}},
      {MatchKey::kVlanTag, {0x01, 0x23}, tagged, {}},
      {MatchKey::kProtocol, {6}, tcp, {}},
      {MatchKey::kUdpDestination, {0x07, 0xd0}, {}, other_port},
      {MatchKey::kUdpDestination, {0x07, 0xd0}, {}, tcp},
      {MatchKey::kTcpSource, {0x03, 0xe8}, tcp, {}},
      {MatchKey::kDestinationAddress + 12, {10, 0, 0, 2}, {}, other_address},
      {MatchKey::kSourceAddress, {0xfd, 0}, v6, {}},
      {MatchKey::kTimeToLive, {64}, {}, {.ether = 0x88b5}},
  };
  for (const Case& test : cases) {
    SteeringRule made = rule(0);
    match(made, test.offset, test.value);
    table_.add(&made);
    EXPECT_EQ(classify(test.hit), Verdict::kQueue) << "offset " << test.offset;
    EXPECT_EQ(classify(test.miss), Verdict::kMiss) << "offset " << test.offset;
    table_.remove(&made);
  }
}

TEST_F(Steering, VersionFragmentAndTagBits) {
  SteeringRule fragments = rule(0);
  match(fragments, MatchKey::kFlags, {MatchKey::kFragment | 4 << MatchKey::kIpVersionShift},
        MatchKey::kFragment | 0xf << MatchKey::kIpVersionShift);
  table_.add(&fragments);
  EXPECT_EQ(classify({.fragment = 0x2000}), Verdict::kQueue);
  EXPECT_EQ(classify({}), Verdict::kMiss);
  table_.remove(&fragments);
  SteeringRule tagged = rule(0);
  match(tagged, MatchKey::kFlags, {MatchKey::kCVlan}, MatchKey::kCVlan);
  table_.add(&tagged);
  EXPECT_EQ(classify({.vlan = 0}), Verdict::kQueue);
  EXPECT_EQ(classify({}), Verdict::kMiss);
}

TEST_F(Steering, PriorityThenAge) {
  SteeringRule all = rule(5);
  SteeringRule drop = rule(3, Verdict::kDrop);
  match(drop, MatchKey::kUdpDestination, {0x07, 0xd0});
  SteeringRule first = rule(5, Verdict::kDrop);
  table_.add(&all);
  table_.add(&drop);
  table_.add(&first);  // younger than `all`, so never seen
  EXPECT_EQ(classify({}), Verdict::kDrop);
  EXPECT_EQ(classify({.destination_port = 1}), Verdict::kQueue);
  table_.remove(&drop);
  EXPECT_EQ(classify({}), Verdict::kQueue);
  table_.remove(&all);
  EXPECT_EQ(classify({}), Verdict::kDrop);
  EXPECT_EQ(table_.rules().size(), 1u);
}

TEST_F(Steering, TagHashAndQueueAreSet) {
  SteeringRule made = rule(0);
  made.flow_tag = 0xabcdef;
  table_.add(&made);
  for (const test::RssVector& vector : test::rss_vectors()) {
    if (vector.source.size() != 4) continue;
    const auto text = [](const std::vector<uint8_t>& a) {
      return std::to_string(a[0]) + "." + std::to_string(a[1]) + "." + std::to_string(a[2]) + "." +
             std::to_string(a[3]);
    };
    ASSERT_EQ(classify({.source = text(vector.source), .destination = text(vector.destination)}),
              Verdict::kQueue);
    EXPECT_EQ(frame_->get().hash, vector.hash_of_addresses);
    EXPECT_EQ(frame_->get().flow_tag, 0xabcdefu);
    EXPECT_EQ(frame_->get().queue, queue(vector.hash_of_addresses % 4));
  }
  // What has no such fields goes to the first queue, unhashed.
  ASSERT_EQ(classify({.ether = 0x88b5}), Verdict::kQueue);
  EXPECT_EQ(frame_->get().hash, 0u);
  EXPECT_EQ(frame_->get().queue, queue(0));
}

}  // namespace
}  // namespace nearpool::connectx4
