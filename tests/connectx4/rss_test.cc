// SPDX-License-Identifier: BSD-3-Clause
// Receive side scaling as the PMD programs it.
#include <gtest/gtest.h>

#include <map>

#include "frames.hpp"
#include "pmd_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

std::string text_of(const std::vector<uint8_t>& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address.size() == 16 ? AF_INET6 : AF_INET, address.data(), text, sizeof text);
  return text;
}

class Rss : public Pmd {
 protected:
  static constexpr uint64_t kIp = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6;
  static constexpr uint64_t kAll = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;

  static PortWish rss_wish(uint16_t queues, uint64_t types) {
    PortWish wish;
    wish.queues = queues;
    wish.rss = types;
    wish.rss_key = kRssKey.data();
    wish.rx_offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
    return wish;
  }
  static uint16_t table_entry(uint32_t hash) {
    rte_eth_dev_info info{};
    EXPECT_EQ(rte_eth_dev_info_get(1, &info), 0);
    std::vector<rte_eth_rss_reta_entry64> table(info.reta_size / 64 + 1);
    for (auto& group : table)
      group.mask = ~uint64_t{0};
    EXPECT_EQ(rte_eth_dev_rss_reta_query(1, table.data(), info.reta_size), 0);
    const uint32_t entry = hash % info.reta_size;
    return table[entry / 64].reta[entry % 64];
  }
  static Outgoing vector_frame(const RssVector& vector, bool tcp) {
    FrameWish wish;
    wish.source = text_of(vector.source);
    wish.destination = text_of(vector.destination);
    wish.source_port = vector.source_port;
    wish.destination_port = vector.destination_port;
    wish.tcp = tcp;
    return {.bytes = build_frame(wish).bytes};
  }
};

TEST_F(Rss, PublishedVectorsWithPorts) {
  start(rss_wish(4, kAll));
  for (const RssVector& vector : rss_vectors()) {
    for (const bool tcp : {false, true}) {
      const Incoming frame = pass_one(vector_frame(vector, tcp));
      EXPECT_NE(frame.flags & RTE_MBUF_F_RX_RSS_HASH, 0u);
      EXPECT_EQ(frame.hash, vector.hash_with_ports) << text_of(vector.source);
      EXPECT_EQ(frame.queue, table_entry(frame.hash));
    }
  }
}

TEST_F(Rss, PublishedVectorsOfAddresses) {
  start(rss_wish(4, kIp));
  for (const RssVector& vector : rss_vectors()) {
    const Incoming frame = pass_one(vector_frame(vector, true));
    EXPECT_EQ(frame.hash, vector.hash_of_addresses) << text_of(vector.source);
    EXPECT_EQ(frame.queue, table_entry(frame.hash));
  }
}

TEST_F(Rss, ManyFlowsSpreadEvenly) {
  start(rss_wish(4, kAll));
  std::vector<Outgoing> frames;
  for (uint32_t i = 0; i < 8000; ++i) {
    FrameWish wish;
    wish.source = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    wish.source_port = static_cast<uint16_t>(1024 + i * 7);
    frames.push_back({.bytes = build_frame(wish).bytes});
  }
  std::map<uint16_t, uint32_t> share;
  for (const Incoming& frame : pass(frames))
    ++share[frame.queue];
  ASSERT_EQ(share.size(), 4u);
  for (const auto& [queue, count] : share)
    EXPECT_NEAR(count, 2000, 200) << "queue " << queue;
}

TEST_F(Rss, AChangedTableMovesFrames) {
  start(rss_wish(4, kAll));
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(1, &info), 0);
  std::vector<rte_eth_rss_reta_entry64> table(info.reta_size / 64 + 1);
  for (auto& group : table) {
    group.mask = ~uint64_t{0};
    for (uint16_t& queue : group.reta)
      queue = 3;
  }
  ASSERT_EQ(rte_eth_dev_rss_reta_update(1, table.data(), info.reta_size), 0);
  for (const RssVector& vector : rss_vectors()) {
    EXPECT_EQ(pass_one(vector_frame(vector, false)).queue, 3);
  }
}

}  // namespace
}  // namespace nearpool::connectx4::test
