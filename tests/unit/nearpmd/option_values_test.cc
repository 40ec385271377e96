// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "cli/options.hpp"

namespace nearpool {
namespace {

using List = std::vector<uint16_t>;

TEST(ParseList, NumbersAndRanges) {
  EXPECT_EQ(parse_list("3", 8).value(), List({3}));
  EXPECT_EQ(parse_list("0-2,5", 8).value(), List({0, 1, 2, 5}));
  EXPECT_EQ(parse_list("5,0-2", 8).value(), List({5, 0, 1, 2}));
  EXPECT_EQ(parse_list("7-7", 8).value(), List({7}));
}

TEST(ParseList, RefusesWhatIsNoList) {
  for (const char* text : {"", ",", "1,", ",1", "a", "1-", "-1", "1-2-3", "2-1", "8", "0-8", "1,1",
                           "0-3,2", "0x1", " 1", "1 ", "99999999999"}) {
    const auto list = parse_list(text, 8);
    ASSERT_FALSE(list) << text;
    EXPECT_NE(list.error().find("from 0 to 7"), std::string::npos) << list.error();
  }
}

TEST(ParseMask, Bits) {
  EXPECT_EQ(parse_mask("6", 8).value(), List({1, 2}));
  EXPECT_EQ(parse_mask("0x81", 8).value(), List({0, 7}));
  EXPECT_EQ(parse_mask("0X80000000000000000000000000000001", 128).value(), List({0, 127}));
}

TEST(ParseMask, RefusesWhatIsNoMask) {
  for (const char* text : {"", "0x", "0", "00", "g", "0x1g", "100", "-1"}) {
    EXPECT_FALSE(parse_mask(text, 8)) << text;
  }
}

TEST(ParseEthPeer, PortAndAddress) {
  const auto peer = parse_eth_peer("3,02:00:Aa:bB:0:ff");
  ASSERT_TRUE(peer) << peer.error();
  EXPECT_EQ(peer->first, 3);
  EXPECT_EQ(peer->second, (MacAddress{2, 0, 0xaa, 0xbb, 0, 0xff}));
}

TEST(ParseEthPeer, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "3", "3,", "32,02:00:00:00:00:00", "3,02:00:00:00:00",
                           "3,02:00:00:00:00:00:00", "3,02:00:00:00:00:100", "3,02:00:00:00:00:0g",
                           "3,02:00:00:00:00:", "x,02:00:00:00:00:00", "3,02:00:00:00:00:001"}) {
    EXPECT_FALSE(parse_eth_peer(text)) << text;
  }
}

TEST(ParsePairs, EachLeftSideOnce) {
  const auto pairs = parse_pairs("0:2,1:3", 32, 8);
  ASSERT_TRUE(pairs);
  EXPECT_EQ(*pairs, (std::map<uint16_t, int>{{0, 2}, {1, 3}}));
  for (const char* text : {"", "0", "0:", ":1", "0:8", "32:1", "0:1,0:2", "0:1:2", "0:1,"}) {
    EXPECT_FALSE(parse_pairs(text, 32, 8)) << text;
  }
}

TEST(Names, EveryNameFindsItsValueAndTestpmdsAreUnderstood) {
  for (const Verdict verdict :
       {Verdict::kDrop, Verdict::kTx, Verdict::kRedirect, Verdict::kRedirectCpu, Verdict::kPass}) {
    EXPECT_EQ(verdict_from_name(verdict_name(verdict)).value(), verdict);
  }
  EXPECT_EQ(verdict_from_name("rxonly").value(), Verdict::kDrop);
  EXPECT_EQ(verdict_from_name("macswap").value(), Verdict::kTx);
  EXPECT_EQ(verdict_from_name("io").value(), Verdict::kRedirect);
  EXPECT_STREQ(verdict_name(Verdict::kDrop), "drop");
  for (const Touch touch : {Touch::kNone, Touch::kReadData, Touch::kParseIp, Touch::kSwapMacs}) {
    EXPECT_EQ(touch_from_name(touch_name(touch)).value(), touch);
  }
  for (const Topology topology : {Topology::kPaired, Topology::kChained, Topology::kLoop}) {
    EXPECT_EQ(topology_from_name(topology_name(topology)).value(), topology);
  }
  const auto wrong = verdict_from_name("mac");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().find("'mac'"), std::string::npos);
  EXPECT_NE(wrong.error().find("redirect-cpu"), std::string::npos);
}

}  // namespace
}  // namespace nearpool
