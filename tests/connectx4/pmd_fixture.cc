// SPDX-License-Identifier: BSD-3-Clause
#include "pmd_fixture.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace nearpool::connectx4::test {

bool eventually(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

void Pmd::SetUp() {
  ASSERT_EQ(rte_eth_dev_count_avail(), 2) << "start this through connectx4 --ports 2";
  const auto pool = [](const char* name) {
    return rte_pktmbuf_pool_create(name, kBuffers, 64, 0, kDataRoom + RTE_PKTMBUF_HEADROOM,
                                   SOCKET_ID_ANY);
  };
  tx_pool_ = pool("tx");
  rx_pool_ = pool("rx");
  ASSERT_NE(tx_pool_, nullptr);
  ASSERT_NE(rx_pool_, nullptr);
}

void Pmd::TearDown() {
  if (started_) stop();
  for (rte_mempool* pool : {rx_pool_, tx_pool_}) {
    if (pool == nullptr) continue;
    EXPECT_EQ(rte_mempool_avail_count(pool), kBuffers) << pool->name;
    rte_mempool_free(pool);
  }
}

void Pmd::configure(const PortWish& wish) {
  wish_ = wish;
  for (uint16_t port = 0; port < 2; ++port) {
    rte_eth_conf conf{};
    conf.rxmode.mtu = wish.mtu;
    conf.rxmode.offloads = wish.rx_offloads;
    conf.txmode.offloads = wish.tx_offloads;
    conf.intr_conf.rxq = wish.interrupts ? 1 : 0;
    conf.intr_conf.lsc = wish.link_events ? 1 : 0;
    if (wish.rss != 0) {
      conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
      conf.rx_adv_conf.rss_conf.rss_hf = wish.rss;
      conf.rx_adv_conf.rss_conf.rss_key = const_cast<uint8_t*>(wish.rss_key);
      conf.rx_adv_conf.rss_conf.rss_key_len = wish.rss_key == nullptr ? 0 : 40;
    }
    ASSERT_EQ(rte_eth_dev_configure(port, wish.queues, 1, &conf), 0);
    for (uint16_t queue = 0; queue < wish.queues; ++queue) {
      ASSERT_EQ(
          rte_eth_rx_queue_setup(port, queue, wish.descriptors, SOCKET_ID_ANY, nullptr, rx_pool_),
          0);
    }
    ASSERT_EQ(rte_eth_tx_queue_setup(port, 0, wish.descriptors, SOCKET_ID_ANY, nullptr), 0);
    ASSERT_EQ(
        wish.promiscuous ? rte_eth_promiscuous_enable(port) : rte_eth_promiscuous_disable(port), 0);
  }
}

void Pmd::start() {
  for (uint16_t port = 0; port < 2; ++port) {
    ASSERT_EQ(rte_eth_dev_start(port), 0) << rte_strerror(rte_errno);
  }
  started_ = true;
}

void Pmd::stop() {
  for (uint16_t port = 0; port < 2; ++port)
    EXPECT_EQ(rte_eth_dev_stop(port), 0);
  started_ = false;
}

rte_mbuf* Pmd::make(const Outgoing& frame) {
  std::vector<uint32_t> lengths;
  auto left = static_cast<uint32_t>(frame.bytes.size());
  for (const uint32_t cut : frame.cuts) {
    if (cut >= left) break;
    lengths.push_back(std::min(cut, kDataRoom));
    left -= lengths.back();
  }
  for (; left > kDataRoom; left -= kDataRoom)
    lengths.push_back(kDataRoom);
  lengths.push_back(left);
  rte_mbuf* first = nullptr;
  const uint8_t* from = frame.bytes.data();
  for (const uint32_t length : lengths) {
    rte_mbuf* segment = rte_pktmbuf_alloc(tx_pool_);
    if (segment == nullptr) {
      rte_pktmbuf_free(first);
      return nullptr;
    }
    std::copy_n(
        from, length,
        reinterpret_cast<uint8_t*>(rte_pktmbuf_append(segment, static_cast<uint16_t>(length))));
    from += length;
    if (first == nullptr) {
      first = segment;
    } else {
      rte_pktmbuf_chain(first, segment);
    }
  }
  first->ol_flags = frame.flags;
  first->l2_len = frame.l2_length;
  first->l3_len = frame.l3_length;
  first->vlan_tci = frame.vlan;
  return first;
}

std::vector<Incoming> Pmd::poll(uint16_t port) {
  std::vector<Incoming> arrived;
  rte_mbuf* mbufs[32];
  for (uint16_t queue = 0; queue < wish_.queues; ++queue) {
    const uint16_t count = rte_eth_rx_burst(port, queue, mbufs, 32);
    for (uint16_t i = 0; i < count; ++i) {
      Incoming frame;
      frame.flags = mbufs[i]->ol_flags;
      frame.hash = mbufs[i]->hash.rss;
      frame.mark = mbufs[i]->hash.fdir.hi;
      frame.packet_type = mbufs[i]->packet_type;
      frame.vlan = mbufs[i]->vlan_tci;
      frame.queue = queue;
      frame.segments = mbufs[i]->nb_segs;
      frame.bytes.reserve(mbufs[i]->pkt_len);
      for (const rte_mbuf* part = mbufs[i]; part != nullptr; part = part->next) {
        const auto* data = rte_pktmbuf_mtod(part, const uint8_t*);
        frame.bytes.insert(frame.bytes.end(), data, data + part->data_len);
      }
      EXPECT_EQ(frame.bytes.size(), mbufs[i]->pkt_len);
      rte_pktmbuf_free(mbufs[i]);
      arrived.push_back(std::move(frame));
    }
  }
  return arrived;
}

std::vector<Incoming> Pmd::pass(const std::vector<Outgoing>& frames, size_t expected) {
  std::vector<Incoming> arrived;
  size_t next = 0;
  rte_mbuf* held = nullptr;  // made, and not taken by the queue yet
  const bool all = eventually([&] {
    for (int burst = 0; burst < 32 && next < frames.size(); ++burst) {
      if (held == nullptr) held = make(frames[next]);
      if (held == nullptr || rte_eth_tx_burst(0, 0, &held, 1) == 0) break;
      held = nullptr;
      ++next;
    }
    for (Incoming& frame : poll())
      arrived.push_back(std::move(frame));
    return next == frames.size() && arrived.size() >= expected;
  });
  rte_pktmbuf_free(held);
  EXPECT_TRUE(all) << "sent " << next << " of " << frames.size() << ", got " << arrived.size()
                   << " of " << expected;
  return arrived;
}

std::vector<Incoming> Pmd::pass(const std::vector<Outgoing>& frames) {
  return pass(frames, frames.size());
}

Incoming Pmd::pass_one(const Outgoing& frame) {
  std::vector<Incoming> arrived = pass({frame});
  if (arrived.size() != 1) {
    ADD_FAILURE() << arrived.size() << " frames arrived instead of one";
    return {};
  }
  return arrived.front();
}

void Pmd::expect_dropped(const std::vector<Outgoing>& frames, const Outgoing& marker) {
  std::vector<Outgoing> all = frames;
  all.push_back(marker);
  const std::vector<Incoming> arrived = pass(all, 1);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived.front().bytes, marker.bytes);
}

std::string Pmd::rx_mode() {
  rte_eth_burst_mode mode{};
  return rte_eth_rx_burst_mode_get(1, 0, &mode) == 0 ? mode.info : "unknown";
}

std::string Pmd::tx_mode() {
  rte_eth_burst_mode mode{};
  return rte_eth_tx_burst_mode_get(0, 0, &mode) == 0 ? mode.info : "unknown";
}

uint64_t Pmd::xstat(uint16_t port, const std::string& name) {
  uint64_t id = 0;
  uint64_t value = 0;
  EXPECT_EQ(rte_eth_xstats_get_id_by_name(port, name.c_str(), &id), 0) << name;
  EXPECT_EQ(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1) << name;
  return value;
}

std::vector<uint8_t> Pmd::mac(uint16_t port) {
  rte_ether_addr address{};
  EXPECT_EQ(rte_eth_macaddr_get(port, &address), 0);
  return {std::begin(address.addr_bytes), std::end(address.addr_bytes)};
}

}  // namespace nearpool::connectx4::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* more = std::getenv("CONNECTX4_TEST_DEVARGS");
  const std::string devargs = more == nullptr ? "" : std::string(",") + more;
  std::vector<std::string> arguments = {argv[0],
                                        "-l",
                                        "0",
                                        "--in-memory",
                                        "-m",
                                        "128",
                                        "--no-telemetry",
                                        "--file-prefix=connectx4_test_" + std::to_string(getpid()),
                                        "--log-level=lib.eal:warning",
                                        "-a",
                                        "0000:81:00.0" + devargs,
                                        "-a",
                                        "0000:81:00.1" + devargs};
  std::vector<char*> pointers;
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) {
    std::fprintf(stderr, "the EAL did not start: %s\n", rte_strerror(rte_errno));
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  uint16_t port = 0;
  RTE_ETH_FOREACH_DEV(port) {
    rte_eth_dev_close(port);
  }
  rte_eal_cleanup();
  return result;
}
