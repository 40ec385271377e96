// SPDX-License-Identifier: BSD-3-Clause
// What a port takes: address filters, MTU, and the rules of rte_flow.
#include <gtest/gtest.h>
#include <rte_flow.h>

#include "frames.hpp"
#include "pmd_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

rte_ether_addr address_of(const std::vector<uint8_t>& bytes) {
  rte_ether_addr address{};
  std::copy(bytes.begin(), bytes.end(), address.addr_bytes);
  return address;
}

class Filter : public Pmd {
 protected:
  Outgoing to(const std::vector<uint8_t>& destination, uint16_t port = 2000) {
    FrameWish wish;
    wish.destination_mac = destination;
    wish.destination_port = port;
    return {.bytes = build_frame(wish).bytes};
  }
  Outgoing to_port(uint16_t port) { return to(mac(1), port); }

  // A rule for UDP frames to this port, or for all frames when it is 0.
  rte_flow* add_rule(uint16_t udp_port, const std::vector<rte_flow_action>& actions) {
    rte_flow_item_udp value{};
    rte_flow_item_udp mask{};
    value.hdr.dst_port = htons(udp_port);
    mask.hdr.dst_port = 0xffff;
    const auto item = [](rte_flow_item_type type, const void* spec = nullptr,
                         const void* over = nullptr) {
      rte_flow_item made{};
      made.type = type;
      made.spec = spec;
      made.mask = over;
      return made;
    };
    std::vector<rte_flow_item> pattern = {item(RTE_FLOW_ITEM_TYPE_ETH)};
    if (udp_port != 0) {
      pattern.push_back(item(RTE_FLOW_ITEM_TYPE_IPV4));
      pattern.push_back(item(RTE_FLOW_ITEM_TYPE_UDP, &value, &mask));
    }
    pattern.push_back(item(RTE_FLOW_ITEM_TYPE_END));
    std::vector<rte_flow_action> all = actions;
    all.push_back({.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr});
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_error error{};
    rte_flow* flow = rte_flow_create(1, &attributes, pattern.data(), all.data(), &error);
    error_ = error.message == nullptr ? "" : error.message;
    return flow;
  }
  // A rule for frames that have all of these.
  rte_flow* add_rule_for(std::vector<rte_flow_item> pattern, uint16_t queue) {
    pattern.push_back({});  // END
    const rte_flow_action_queue to{.index = queue};
    const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &to},
                                       {RTE_FLOW_ACTION_TYPE_END, nullptr}};
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_error error{};
    rte_flow* flow = rte_flow_create(1, &attributes, pattern.data(), actions, &error);
    error_ = error.message == nullptr ? "" : error.message;
    return flow;
  }
  static rte_flow_item item(rte_flow_item_type type, const void* value = nullptr,
                            const void* mask = nullptr) {
    rte_flow_item made{};
    made.type = type;
    made.spec = value;
    made.mask = mask;
    return made;
  }
  void remove_rule(rte_flow* flow) {
    rte_flow_error error{};
    EXPECT_EQ(rte_flow_destroy(1, flow, &error), 0);
  }

  const std::vector<uint8_t> kForeign = {0x02, 0x55, 0, 0, 0, 1};
  const std::vector<uint8_t> kBroadcast = std::vector<uint8_t>(6, 0xff);
  const std::vector<uint8_t> kMulticast = {0x01, 0, 0x5e, 1, 2, 3};
  std::string error_;
};

TEST_F(Filter, OnlyOwnAddressesWithoutPromiscuousMode) {
  PortWish wish;
  wish.promiscuous = false;
  start(wish);
  const Outgoing own = to(mac(1));
  EXPECT_EQ(pass_one(to(kBroadcast)).bytes, to(kBroadcast).bytes);
  expect_dropped({to(kForeign), to(kMulticast)}, own);

  rte_ether_addr more = address_of(kForeign);
  ASSERT_EQ(rte_eth_dev_mac_addr_add(1, &more, 0), 0);
  EXPECT_EQ(pass_one(to(kForeign)).bytes, to(kForeign).bytes);
  ASSERT_EQ(rte_eth_dev_mac_addr_remove(1, &more), 0);
  expect_dropped({to(kForeign)}, own);

  ASSERT_EQ(rte_eth_allmulticast_enable(1), 0);
  EXPECT_EQ(pass_one(to(kMulticast)).bytes, to(kMulticast).bytes);
  expect_dropped({to(kForeign)}, own);
  ASSERT_EQ(rte_eth_allmulticast_disable(1), 0);
  expect_dropped({to(kMulticast)}, own);

  ASSERT_EQ(rte_eth_promiscuous_enable(1), 0);
  EXPECT_EQ(pass_one(to(kForeign)).bytes, to(kForeign).bytes);
}

TEST_F(Filter, VlanFilter) {
  PortWish wish;
  wish.promiscuous = false;
  wish.rx_offloads |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
  start(wish);
  const auto tagged = [](int vlan) {
    FrameWish frame;
    frame.destination_mac = mac(1);
    frame.vlan = vlan;
    return Outgoing{.bytes = build_frame(frame).bytes};
  };
  ASSERT_EQ(rte_eth_dev_vlan_filter(1, 7, 1), 0);
  expect_dropped({tagged(8), tagged(9)}, tagged(7));
}

TEST_F(Filter, FramesAboveTheMtuAreDropped) {
  PortWish wish;
  wish.mtu = 1000;
  start(wish);
  const auto sized = [](uint32_t length) {
    std::vector<uint8_t> bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    bytes.resize(length, 0x5a);
    return Outgoing{.bytes = bytes};
  };
  // An Ethernet header and a tag are not part of the MTU.
  ASSERT_NO_FATAL_FAILURE(expect_dropped({sized(1019), sized(1500)}, sized(1018)));
}

TEST_F(Filter, RulesPickAQueueDropAndMark) {
  PortWish wish;
  wish.queues = 4;
  start(wish);
  const rte_flow_action_queue third{.index = 2};
  const rte_flow_action_queue first{.index = 0};
  const rte_flow_action_mark mark{.id = 0x1234};
  rte_flow* queue = add_rule(100, {{RTE_FLOW_ACTION_TYPE_QUEUE, &third}});
  ASSERT_NE(queue, nullptr) << error_;
  rte_flow* drop = add_rule(101, {{RTE_FLOW_ACTION_TYPE_DROP, nullptr}});
  ASSERT_NE(drop, nullptr) << error_;
  rte_flow* marked =
      add_rule(102, {{RTE_FLOW_ACTION_TYPE_MARK, &mark}, {RTE_FLOW_ACTION_TYPE_QUEUE, &first}});
  ASSERT_NE(marked, nullptr) << error_;

  EXPECT_EQ(pass_one(to_port(100)).queue, 2);
  expect_dropped({to_port(101)}, to_port(103));
  const Incoming with_mark = pass_one(to_port(102));
  EXPECT_NE(with_mark.flags & RTE_MBUF_F_RX_FDIR_ID, 0u);
  EXPECT_EQ(with_mark.mark, 0x1234u);

  remove_rule(drop);
  EXPECT_EQ(pass_one(to_port(101)).bytes, to_port(101).bytes);
  remove_rule(queue);
  remove_rule(marked);
}

TEST_F(Filter, RulesMatchEachKindOfHeader) {
  PortWish wish;
  wish.queues = 2;
  start(wish);
  const auto frame_of = [](const FrameWish& frame) {
    return Outgoing{.bytes = build_frame(frame).bytes};
  };
  FrameWish plain;
  plain.destination_mac = mac(1);
  FrameWish v6 = plain;
  v6.source = "fd00::1";
  v6.destination = "fd00::2";

  rte_flow_item_eth ethernet{};
  rte_flow_item_eth ethernet_mask{};
  ethernet.hdr.src_addr = address_of({2, 0, 0, 0, 0, 7});
  ethernet_mask.hdr.src_addr = address_of(std::vector<uint8_t>(6, 0xff));
  FrameWish from_seven = plain;
  from_seven.source_mac = {2, 0, 0, 0, 0, 7};

  rte_flow_item_vlan vlan{};
  rte_flow_item_vlan vlan_mask{};
  vlan.hdr.vlan_tci = htons(0x123);
  vlan_mask.hdr.vlan_tci = htons(0xfff);
  FrameWish tagged = plain;
  tagged.vlan = 0x2123;  // the priority does not matter
  FrameWish other_tag = plain;
  other_tag.vlan = 0x124;

  rte_flow_item_ipv4 ipv4{};
  rte_flow_item_ipv4 ipv4_mask{};
  ipv4.hdr.dst_addr = htonl(0x0a000009);
  ipv4_mask.hdr.dst_addr = 0xffffffff;
  FrameWish to_nine = plain;
  to_nine.destination = "10.0.0.9";

  rte_flow_item_ipv6 ipv6{};
  rte_flow_item_ipv6 ipv6_mask{};
  const auto nine = address_bytes("fd00::9");
  std::copy(nine.begin(), nine.end(), ipv6.hdr.dst_addr);
  std::fill(std::begin(ipv6_mask.hdr.dst_addr), std::end(ipv6_mask.hdr.dst_addr), 0xff);
  FrameWish to_v6_nine = v6;
  to_v6_nine.destination = "fd00::9";

  rte_flow_item_tcp tcp{};
  rte_flow_item_tcp tcp_mask{};
  tcp.hdr.src_port = htons(77);
  tcp_mask.hdr.src_port = 0xffff;
  FrameWish tcp_77 = plain;
  tcp_77.tcp = true;
  tcp_77.source_port = 77;
  FrameWish udp_77 = plain;
  udp_77.source_port = 77;

  const auto eth = item(RTE_FLOW_ITEM_TYPE_ETH);
  const auto ip = item(RTE_FLOW_ITEM_TYPE_IPV4);
  struct Case {
    const char* name;
    std::vector<rte_flow_item> pattern;
    FrameWish hit;
    FrameWish miss;
  };
  const std::vector<Case> cases = {
      {"Ethernet", {item(RTE_FLOW_ITEM_TYPE_ETH, &ethernet, &ethernet_mask)}, from_seven, plain},
      {"VLAN", {eth, item(RTE_FLOW_ITEM_TYPE_VLAN, &vlan, &vlan_mask)}, tagged, other_tag},
      {"IPv4", {eth, item(RTE_FLOW_ITEM_TYPE_IPV4, &ipv4, &ipv4_mask)}, to_nine, plain},
      {"IPv6", {eth, item(RTE_FLOW_ITEM_TYPE_IPV6, &ipv6, &ipv6_mask)}, to_v6_nine, v6},
      {"TCP", {eth, ip, item(RTE_FLOW_ITEM_TYPE_TCP, &tcp, &tcp_mask)}, tcp_77, udp_77},
  };
  for (const Case& test : cases) {
    rte_flow* flow = add_rule_for(test.pattern, 1);
    ASSERT_NE(flow, nullptr) << test.name << ": " << error_;
    EXPECT_EQ(pass_one(frame_of(test.hit)).queue, 1) << test.name;
    EXPECT_EQ(pass_one(frame_of(test.miss)).queue, 0) << test.name;
    remove_rule(flow);
    EXPECT_EQ(pass_one(frame_of(test.hit)).queue, 0) << test.name << ", removed";
  }
}

TEST_F(Filter, ARuleSpreadsOverSomeQueues) {
  PortWish wish;
  wish.queues = 4;
  start(wish);
  const uint16_t queues[] = {1, 3};
  rte_flow_action_rss rss{};
  rss.types = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
  rss.key = kRssKey.data();
  rss.key_len = kRssKey.size();
  rss.queue = queues;
  rss.queue_num = 2;
  rte_flow* flow = add_rule(100, {{RTE_FLOW_ACTION_TYPE_RSS, &rss}});
  ASSERT_NE(flow, nullptr) << error_;
  std::vector<Outgoing> frames;
  for (uint16_t i = 0; i < 400; ++i) {
    FrameWish frame;
    frame.source_port = static_cast<uint16_t>(1000 + i);
    frame.destination_port = 100;
    frames.push_back({.bytes = build_frame(frame).bytes});
  }
  uint32_t share[4] = {};
  for (const Incoming& frame : pass(frames))
    ++share[frame.queue];
  EXPECT_EQ(share[0] + share[2], 0u);
  EXPECT_GT(share[1], 120u);
  EXPECT_GT(share[3], 120u);
  remove_rule(flow);
}

TEST_F(Filter, IsolatedModeTakesNothingByItself) {
  rte_flow_error error{};
  ASSERT_EQ(rte_flow_isolate(1, 1, &error), 0);
  start({});
  const rte_flow_action_queue queue{.index = 0};
  rte_flow* flow = add_rule(100, {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue}});
  ASSERT_NE(flow, nullptr) << error_;
  expect_dropped({to_port(99), to(kBroadcast)}, to_port(100));
  remove_rule(flow);
  stop();
  ASSERT_EQ(rte_flow_isolate(1, 0, &error), 0);
}

TEST_F(Filter, WhatIsNotOfferedIsRefused) {
  start({});
  const rte_flow_action_jump jump{.group = 1};
  EXPECT_EQ(add_rule(100, {{RTE_FLOW_ACTION_TYPE_JUMP, &jump}}), nullptr);
  EXPECT_NE(error_, "");
  EXPECT_EQ(
      add_rule(100, {{RTE_FLOW_ACTION_TYPE_COUNT, nullptr}, {RTE_FLOW_ACTION_TYPE_DROP, nullptr}}),
      nullptr);
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(1, &info), 0);
  EXPECT_EQ(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO, 0u);
  EXPECT_EQ(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_TSO, 0u);
  EXPECT_EQ(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO, 0u);
}

}  // namespace
}  // namespace nearpool::connectx4::test
