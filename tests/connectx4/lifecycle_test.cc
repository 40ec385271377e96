// SPDX-License-Identifier: BSD-3-Clause
// Ports that start, stop, go and come, and tell of their links and frames.
#include <gtest/gtest.h>
#include <net/if.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_interrupts.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "frames.hpp"
#include "pmd_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class Lifecycle : public Pmd {
 protected:
  static Outgoing frame() { return {.bytes = build_frame({.payload = 400}).bytes}; }
  static bool link_is(uint16_t port, int status) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == status;
  }
};

TEST_F(Lifecycle, OneHundredStarts) {
  configure({});
  for (int round = 0; round < 100; ++round) {
    start();
    ASSERT_EQ(pass_one(frame()).bytes, frame().bytes) << "round " << round;
    stop();
    ASSERT_EQ(rte_mempool_avail_count(rx_pool_), kBuffers) << "round " << round;
  }
}

TEST_F(Lifecycle, DetachAndAttach) {
  for (int round = 0; round < 5; ++round) {
    start({});
    ASSERT_EQ(pass_one(frame()).bytes, frame().bytes);
    stop();
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(1, &info), 0);
    const std::string name = rte_dev_name(info.device);
    const char* more = std::getenv("CONNECTX4_TEST_DEVARGS");
    ASSERT_EQ(rte_eth_dev_close(1), 0);
    // Closing a PCI port of this driver leaves the device: it is removed by its name.
    rte_eal_hotplug_remove("pci", name.c_str());
    ASSERT_EQ(rte_eth_dev_count_avail(), 1);
    ASSERT_EQ(rte_eal_hotplug_add("pci", name.c_str(), more == nullptr ? "" : more), 0);
    ASSERT_EQ(rte_eth_dev_count_avail(), 2);
  }
}

TEST_F(Lifecycle, LinkFollowsTheNetdev) {
  start({});
  ASSERT_TRUE(
      eventually([] { return link_is(0, RTE_ETH_LINK_UP) && link_is(1, RTE_ETH_LINK_UP); }));
  rte_eth_link link{};
  ASSERT_EQ(rte_eth_link_get_nowait(0, &link), 0);
  EXPECT_EQ(link.link_speed, 100000u);
  EXPECT_EQ(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
  ASSERT_EQ(rte_eth_dev_set_link_down(1), 0);
  // It is one cable: the other end loses its carrier.
  EXPECT_TRUE(eventually([] { return link_is(1, RTE_ETH_LINK_DOWN); }));
  EXPECT_TRUE(eventually([] { return link_is(0, RTE_ETH_LINK_DOWN); }));
  ASSERT_EQ(rte_eth_dev_set_link_up(1), 0);
  EXPECT_TRUE(
      eventually([] { return link_is(0, RTE_ETH_LINK_UP) && link_is(1, RTE_ETH_LINK_UP); }));
  EXPECT_EQ(pass_one(frame()).bytes, frame().bytes);
}

// Who has asked to be told of link changes is told.
TEST_F(Lifecycle, LinkChangesAreEvents) {
  PortWish wish;
  wish.link_events = true;
  start(wish);
  std::atomic<int> events{0};
  const auto count = [](uint16_t, rte_eth_event_type, void* counter, void*) {
    ++*static_cast<std::atomic<int>*>(counter);
    return 0;
  };
  ASSERT_EQ(rte_eth_dev_callback_register(0, RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
  ASSERT_EQ(rte_eth_dev_set_link_down(1), 0);  // the other end of the cable
  EXPECT_TRUE(eventually([&] { return events >= 1 && link_is(0, RTE_ETH_LINK_DOWN); }));
  const int before = events;
  ASSERT_EQ(rte_eth_dev_set_link_up(1), 0);
  EXPECT_TRUE(eventually([&] { return events > before && link_is(0, RTE_ETH_LINK_UP); }));
  stop();
  EXPECT_EQ(rte_eth_dev_callback_unregister(0, RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
}

TEST_F(Lifecycle, InterruptsComeOncePerRequest) {
  PortWish wish;
  wish.interrupts = true;
  start(wish);
  ASSERT_EQ(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr), 0);
  rte_epoll_event event{};
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(1, 0), 0);
    rte_mbuf* mbuf = make(frame());
    ASSERT_EQ(rte_eth_tx_burst(0, 0, &mbuf, 1), 1);
    ASSERT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 10'000), 1) << "round " << round;
    // Reads the event; asked again without a new frame, there is none.
    rte_eth_dev_rx_intr_disable(1, 0);
    std::vector<Incoming> arrived;
    ASSERT_TRUE(eventually([&] {
      arrived = poll();
      return !arrived.empty();
    }));
    EXPECT_EQ(arrived.front().bytes, frame().bytes);
    if (round % 20 == 0) {
      ASSERT_EQ(rte_eth_dev_rx_intr_enable(1, 0), 0);
      EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 2), 0) << "round " << round;
      rte_eth_dev_rx_intr_disable(1, 0);
    }
  }
  rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr);
}

TEST_F(Lifecycle, CountersAgree) {
  start({});
  ASSERT_EQ(rte_eth_stats_reset(0), 0);
  ASSERT_EQ(rte_eth_stats_reset(1), 0);
  ASSERT_EQ(rte_eth_xstats_reset(0), 0);
  ASSERT_EQ(rte_eth_xstats_reset(1), 0);
  FrameWish broadcast{.payload = 100};
  broadcast.destination_mac.assign(6, 0xff);
  FrameWish multicast{.payload = 100};
  multicast.destination_mac = {1, 0, 0x5e, 0, 0, 1};
  std::vector<Outgoing> frames(100, frame());
  frames.insert(frames.end(), 20, {.bytes = build_frame(broadcast).bytes});
  frames.insert(frames.end(), 30, {.bytes = build_frame(multicast).bytes});
  uint64_t bytes = 0;
  for (const Outgoing& one : frames)
    bytes += one.bytes.size();
  ASSERT_EQ(pass(frames).size(), frames.size());
  rte_eth_stats stats{};
  ASSERT_EQ(rte_eth_stats_get(1, &stats), 0);
  EXPECT_EQ(stats.ipackets, 150u);
  EXPECT_EQ(stats.ibytes, bytes);
  EXPECT_EQ(stats.imissed + stats.ierrors + stats.rx_nombuf, 0u);
  EXPECT_EQ(xstat(0, "tx_unicast_packets"), 100u);
  EXPECT_EQ(xstat(0, "tx_broadcast_packets"), 20u);
  EXPECT_EQ(xstat(0, "tx_multicast_packets"), 30u);
  EXPECT_EQ(xstat(1, "rx_unicast_packets"), 100u);
  EXPECT_EQ(xstat(1, "rx_broadcast_packets"), 20u);
  EXPECT_EQ(xstat(1, "rx_multicast_packets"), 30u);
  EXPECT_EQ(xstat(1, "rx_phy_packets"), 150u);
  EXPECT_EQ(xstat(1, "rx_phy_bytes"), bytes + 150 * 4);
}

TEST_F(Lifecycle, TheMtuIsTheNetdevs) {
  PortWish wish;
  wish.rx_offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
  start(wish);
  // What a card has, and no more.
  EXPECT_EQ(rte_eth_dev_set_mtu(1, 9978), 0);
  EXPECT_NE(rte_eth_dev_set_mtu(1, 9979), 0);
  ASSERT_EQ(rte_eth_dev_set_mtu(1, 1400), 0);
  uint16_t mtu = 0;
  ASSERT_EQ(rte_eth_dev_get_mtu(1, &mtu), 0);
  EXPECT_EQ(mtu, 1400);
  rte_eth_dev_info info{};
  ASSERT_EQ(rte_eth_dev_info_get(1, &info), 0);
  ifreq request{};
  ASSERT_NE(if_indextoname(info.if_index, request.ifr_name), nullptr);
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_EQ(ioctl(socket, SIOCGIFMTU, &request), 0);
  EXPECT_EQ(request.ifr_mtu, 1400);
  // Changed from outside: the port follows.
  request.ifr_mtu = 800;
  EXPECT_EQ(ioctl(socket, SIOCSIFMTU, &request), 0);
  close(socket);
  std::vector<uint8_t> bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
  std::vector<uint8_t> longer = bytes;
  bytes.resize(818);
  longer.resize(819);
  expect_dropped({{.bytes = longer}}, {.bytes = bytes});
  ASSERT_EQ(rte_eth_dev_set_mtu(1, 1500), 0);
}

}  // namespace
}  // namespace nearpool::connectx4::test
