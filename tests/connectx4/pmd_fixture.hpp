// SPDX-License-Identifier: BSD-3-Clause
// The genuine mlx5 PMD on two software ports, 0 and 1, with a cable between them. The program is
// started through the launcher; the variable CONNECTX4_TEST_DEVARGS adds arguments of both devices.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nearpool::connectx4::test {

struct Outgoing {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> cuts = {};  // lengths of the first segments; the rest is one more
  uint64_t flags = 0;
  uint16_t l2_length = 14;
  uint16_t l3_length = 20;
  uint16_t vlan = 0;
};

struct Incoming {
  std::vector<uint8_t> bytes;
  uint64_t flags = 0;
  uint32_t hash = 0;
  uint32_t mark = 0;
  uint32_t packet_type = 0;
  uint16_t vlan = 0;
  uint16_t queue = 0;
  uint16_t segments = 0;
};

struct PortWish {
  uint16_t queues = 1;
  uint16_t descriptors = 512;
  uint16_t mtu = 1500;
  uint64_t rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
  uint64_t tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                         RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                         RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
  uint64_t rss = 0;
  const uint8_t* rss_key = nullptr;  // 40 bytes
  bool interrupts = false;
  bool link_events = false;
  bool promiscuous = true;
};

// Polls `done` until it is true; false after half a minute, which only a hang takes.
bool eventually(const std::function<bool()>& done);

class Pmd : public ::testing::Test {
 protected:
  // A frame keeps a buffer busy for as long as the test holds it, so pools are not tight.
  static constexpr uint32_t kBuffers = 8191;
  static constexpr uint32_t kDataRoom = 2048;

  void SetUp() override;
  // Stops the ports, and checks that all buffers are back.
  void TearDown() override;

  void configure(const PortWish& wish);
  void start();
  void stop();
  void start(const PortWish& wish) {
    configure(wish);
    start();
  }

  rte_mbuf* make(const Outgoing& frame);
  // Sends the frames from port 0 and returns what arrives at port 1, until as many have arrived.
  std::vector<Incoming> pass(const std::vector<Outgoing>& frames);
  std::vector<Incoming> pass(const std::vector<Outgoing>& frames, size_t expected);
  Incoming pass_one(const Outgoing& frame);
  // Nothing of these frames may arrive: a frame that does arrive is sent behind them.
  void expect_dropped(const std::vector<Outgoing>& frames, const Outgoing& marker);
  std::vector<Incoming> poll(uint16_t port = 1);
  static std::string rx_mode();  // of port 1
  static std::string tx_mode();  // of port 0
  static uint64_t xstat(uint16_t port, const std::string& name);
  static std::vector<uint8_t> mac(uint16_t port);

  rte_mempool* tx_pool_ = nullptr;
  rte_mempool* rx_pool_ = nullptr;
  PortWish wish_;
  bool started_ = false;
};

}  // namespace nearpool::connectx4::test
