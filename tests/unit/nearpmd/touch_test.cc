// SPDX-License-Identifier: BSD-3-Clause
// Touch levels on frames in one, two and five segments, cut at every byte of the Ethernet header.
#include "datapath/touch.hpp"

#include <algorithm>

#include "mbuf_frames.hpp"

namespace nearpool {
namespace {

using Cuts = std::vector<size_t>;

std::vector<Cuts> all_cuts() {
  std::vector<Cuts> all{{}, {0}, {0, 0}};
  for (size_t at = 1; at <= 14; at++) {
    all.push_back({at});
    all.push_back({at, at});
    all.push_back({at, at + 1, at + 3, at + 20});
    all.push_back({0, at, at + 1, at + 14});
  }
  return all;
}

class TouchFrames : public MbufFrames {
 protected:
  QueueCounters counters_;

  // The frame after one touch, and how many were left of the burst of one.
  unsigned touch(Touch level, rte_mbuf* frame) {
    rte_mbuf* burst[] = {frame};
    const TouchFunction function = touch_function(level, Verdict::kRedirect);
    return function == nullptr ? 1 : function(burst, 1, counters_);
  }
};

TEST_F(TouchFrames, AddressesChangePlacesWhereverTheyLie) {
  const Bytes before = ip_frame(true, IPPROTO_UDP, 60);
  Bytes swapped = before;
  std::swap_ranges(swapped.begin(), swapped.begin() + 6, swapped.begin() + 6);
  for (const Cuts& cuts : all_cuts()) {
    rte_mbuf* one = frame(before, cuts);
    EXPECT_EQ(touch(Touch::kSwapMacs, one), 1u);
    EXPECT_EQ(bytes_of(one), swapped) << testing::PrintToString(cuts);
    rte_pktmbuf_free(one);
  }
}

TEST_F(TouchFrames, AddressesAreWrittenWhereverTheyLie) {
  const Bytes before = ip_frame(true, IPPROTO_UDP, 60);
  std::array<uint8_t, 12> addresses;
  for (size_t i = 0; i < addresses.size(); i++)
    addresses[i] = static_cast<uint8_t>(0xa0 + i);
  Bytes written = before;
  std::copy(addresses.begin(), addresses.end(), written.begin());
  for (const Cuts& cuts : all_cuts()) {
    rte_mbuf* one = frame(before, cuts);
    write_macs(one, addresses);
    EXPECT_EQ(bytes_of(one), written) << testing::PrintToString(cuts);
    rte_pktmbuf_free(one);
  }
}

TEST_F(TouchFrames, HeadersAreParsedWhereverTheyLie) {
  Bytes lies = ip_frame(true, IPPROTO_UDP, 60);
  lies[16] = 0xff;  // a length far beyond the frame
  for (const Cuts& cuts : all_cuts()) {
    const uint64_t before = counters_.malformed.read();
    rte_mbuf* good = frame(ip_frame(false, IPPROTO_TCP, 60), cuts);
    rte_mbuf* bad = frame(lies, cuts);
    EXPECT_EQ(touch(Touch::kParseIp, good), 1u);
    EXPECT_EQ(counters_.malformed.read(), before) << testing::PrintToString(cuts);
    EXPECT_EQ(touch(Touch::kParseIp, bad), 1u);
    EXPECT_EQ(counters_.malformed.read(), before + 1) << testing::PrintToString(cuts);
    rte_pktmbuf_free(good);
    rte_pktmbuf_free(bad);
  }
}

TEST_F(TouchFrames, NothingIsWrittenByLevelsThatRead) {
  const Bytes before = ip_frame(true, IPPROTO_UDP, 60);
  for (const Touch level : {Touch::kNone, Touch::kReadData, Touch::kParseIp}) {
    for (const Cuts& cuts : all_cuts()) {
      rte_mbuf* one = frame(before, cuts);
      EXPECT_EQ(touch(level, one), 1u);
      EXPECT_EQ(bytes_of(one), before);
      rte_pktmbuf_free(one);
    }
  }
}

TEST_F(TouchFrames, RuntsLeaveTheBurstWithAllTheirSegments) {
  const Bytes whole = ip_frame(true, IPPROTO_UDP, 60);
  for (const Touch level : {Touch::kReadData, Touch::kParseIp, Touch::kSwapMacs}) {
    const uint64_t before = counters_.runt.read();
    std::vector<rte_mbuf*> burst;
    for (size_t size = 0; size < 20; size++) {
      const Bytes bytes(whole.begin(), whole.begin() + static_cast<long>(size));
      burst.push_back(frame(bytes, size > 1 ? Cuts{size / 2} : Cuts{}));
    }
    const unsigned kept = touch_function(level, Verdict::kDrop)(
        burst.data(), static_cast<unsigned>(burst.size()), counters_);
    EXPECT_EQ(kept, 6u);  // of 14 to 19 bytes
    EXPECT_EQ(counters_.runt.read(), before + 14);
    for (unsigned i = 0; i < kept; i++) {
      EXPECT_EQ(burst[i]->pkt_len, 14 + i);
      rte_pktmbuf_free(burst[i]);
    }
  }
}

TEST_F(TouchFrames, TheVerdictTxAlwaysSwaps) {
  EXPECT_EQ(touch_function(Touch::kNone, Verdict::kTx),
            touch_function(Touch::kSwapMacs, Verdict::kRedirect));
}

TEST_F(TouchFrames, TheVerdictTxDoesWhatTheLevelSaysToo) {
  Bytes lies = ip_frame(true, IPPROTO_UDP, 60);
  lies[16] = 0xff;
  Bytes swapped = lies;
  std::swap_ranges(swapped.begin(), swapped.begin() + 6, swapped.begin() + 6);
  for (const Cuts& cuts : all_cuts()) {
    const uint64_t before = counters_.malformed.read();
    rte_mbuf* one = frame(lies, cuts);
    EXPECT_EQ(touch_function(Touch::kParseIp, Verdict::kTx)(&one, 1, counters_), 1u);
    EXPECT_EQ(counters_.malformed.read(), before + 1) << testing::PrintToString(cuts);
    EXPECT_EQ(bytes_of(one), swapped) << testing::PrintToString(cuts);
    rte_pktmbuf_free(one);
  }
}

}  // namespace
}  // namespace nearpool
