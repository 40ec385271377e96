// SPDX-License-Identifier: BSD-3-Clause
// The PMD's own recovery from what the launcher's --fault options do to it, and from memory that
// was never registered. Each test is run with the option that its name says.
#include <gtest/gtest.h>
#include <rte_errno.h>
#include <sys/mman.h>

#include "frames.hpp"
#include "pmd_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class Fault : public Pmd {
 protected:
  static Outgoing numbered(uint32_t number) {
    std::vector<uint8_t> bytes = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<uint8_t>(number >> shift));
    }
    bytes.resize(100, 0x33);
    return {.bytes = bytes};
  }
  static uint32_t number_of(const Incoming& frame) {
    uint32_t number = 0;
    for (size_t i = 14; i < 18; ++i)
      number = number << 8 | frame.bytes.at(i);
    return number;
  }

  // Sends frames until `wanted` have arrived, whatever gets lost. All that arrive are whole and in
  // order.
  uint32_t send_until(uint32_t wanted) {
    const uint32_t first = next_;
    uint32_t arrived = 0;
    rte_mbuf* held = nullptr;
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < 16; ++i) {
        if (held == nullptr) held = make(numbered(next_));
        if (held == nullptr || rte_eth_tx_burst(0, 0, &held, 1) == 0) break;
        held = nullptr;
        ++next_;
      }
      for (const Incoming& frame : poll()) {
        const uint32_t number = number_of(frame);
        EXPECT_EQ(frame.bytes, numbered(number).bytes);
        EXPECT_GT(static_cast<int64_t>(number), last_);
        last_ = number;
        ++arrived;
      }
      return arrived >= wanted;
    })) << "sent "
        << next_ - first << ", arrived " << arrived;
    rte_pktmbuf_free(held);
    return next_ - first;
  }

  // Sends, and reads nothing, until the frames pile up to here. The number sent.
  uint32_t send_until_stuck() {
    uint32_t accepted = 0;
    rte_mbuf* held = nullptr;
    auto last = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - last < std::chrono::milliseconds(300)) {
      if (held == nullptr) held = make(numbered(accepted));
      if (held == nullptr || rte_eth_tx_burst(0, 0, &held, 1) == 0) continue;
      held = nullptr;
      ++accepted;
      last = std::chrono::steady_clock::now();
      if (accepted > 2000) {
        ADD_FAILURE() << "the wire goes on taking frames that nobody reads";
        break;
      }
    }
    rte_pktmbuf_free(held);
    return accepted;
  }
  // Reads until so many have arrived.
  void read_all(uint32_t wanted) {
    uint32_t arrived = 0;
    EXPECT_TRUE(eventually([&] {
      arrived += static_cast<uint32_t>(poll().size());
      rte_eth_tx_burst(0, 0, nullptr, 0);
      return arrived >= wanted;
    })) << arrived
        << " of " << wanted;
  }

  uint32_t next_ = 0;
  int64_t last_ = -1;
};

TEST_F(Fault, RxErrorIsSurvived) {
  start({});
  send_until(20000);
  // The driver reads the device's counters anew when it is asked, as far as it gets at them.
  EXPECT_TRUE(eventually([] { return xstat(1, "rx_wqe_errors") >= 3; }));
}

TEST_F(Fault, TxErrorIsSurvived) {
  start({});
  send_until(20000);
  EXPECT_TRUE(eventually([] { return xstat(0, "tx_phy_errors") >= 3; }));
  rte_eth_stats stats{};
  ASSERT_EQ(rte_eth_stats_get(0, &stats), 0);
  EXPECT_GE(stats.oerrors, 3u);
}

TEST_F(Fault, TxStallEndsByItself) {
  start({});
  const auto begin = std::chrono::steady_clock::now();
  const uint32_t sent = send_until(5000);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  EXPECT_LE(xstat(1, "rx_good_packets"), sent);
  EXPECT_EQ(xstat(0, "tx_phy_errors"), 0u);
}

// In portions that the receive ring has room for, so that none is missed but those of the fault,
// however late this program polls.
TEST_F(Fault, NoBufferIsCounted) {
  start({});
  constexpr uint32_t kPortion = 50;
  uint32_t arrived = 0;
  for (uint32_t first = 0; first < 1000; first += kPortion) {
    std::vector<Outgoing> frames;
    for (uint32_t i = first; i < first + kPortion; ++i)
      frames.push_back(numbered(i));
    const bool lost = first >= 100 && first < 200;
    const std::vector<Incoming> portion = pass(frames, lost ? 0 : kPortion);
    ASSERT_EQ(portion.size(), lost ? 0u : kPortion) << "of the frames from " << first;
    if (!lost) {
      EXPECT_EQ(number_of(portion.front()), first);
    }
    arrived += static_cast<uint32_t>(portion.size());
  }
  EXPECT_EQ(arrived, 900u);
  rte_eth_stats stats{};
  ASSERT_EQ(rte_eth_stats_get(1, &stats), 0);
  EXPECT_EQ(stats.imissed, 100u);
  EXPECT_EQ(xstat(1, "rx_out_of_buffer"), 100u);
}

TEST_F(Fault, FlapTakesTheLinkDownAndUp) {
  start({});
  const auto is = [](uint16_t port, int status) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == status;
  };
  ASSERT_TRUE(eventually([&] { return is(1, RTE_ETH_LINK_DOWN) && is(0, RTE_ETH_LINK_DOWN); }));
  ASSERT_TRUE(eventually([&] { return is(1, RTE_ETH_LINK_UP) && is(0, RTE_ETH_LINK_UP); }));
  send_until(1000);
}

TEST_F(Fault, LossIsTheShareAskedFor) {
  start({});
  const uint32_t sent = send_until(20000);
  EXPECT_NEAR(20000.0 / sent, 0.75, 0.05);
}

// Frames that the far end does not take yet are offered again and again; whether one gets lost is
// decided once.
TEST_F(Fault, LossIsDecidedOnceForEachFrame) {
  start({});
  const uint32_t sent = send_until_stuck();
  ASSERT_NO_FATAL_FAILURE(read_all(sent * 9 / 10));
}

// The fault is for the 600th frame, and the ring holds 512: the frame waits for a buffer, and for
// its error.
TEST_F(Fault, AFullRingSpendsNoError) {
  start({});
  const uint32_t sent = send_until_stuck();
  ASSERT_GT(sent, 700u);
  ASSERT_EQ(xstat(1, "rx_wqe_errors"), 0u);
  uint32_t arrived = 0;
  EXPECT_TRUE(eventually([&] {
    arrived += static_cast<uint32_t>(poll().size());
    rte_eth_tx_burst(0, 0, nullptr, 0);
    return arrived >= 599 && xstat(1, "rx_wqe_errors") == 1;
  })) << arrived
      << " frames, " << xstat(1, "rx_wqe_errors") << " errors";
}

TEST_F(Fault, RateIsTheOneAskedFor) {
  start({});
  const auto begin = std::chrono::steady_clock::now();
  send_until(20000);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  // 100 kpps; a machine that is busy with something else may only make it slower.
  EXPECT_GT(seconds.count(), 0.18);
}

// A frame in memory that no region covers. The device refuses it, and the driver goes on.
TEST_F(Fault, UnregisteredMemoryIsCaughtOnTx) {
  start({});
  send_until(100);
  constexpr size_t kLength = 65536;
  void* memory = mmap(nullptr, kLength, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  static rte_mbuf_ext_shared_info shared;
  shared.free_cb = [](void*, void*) {};
  rte_mbuf_ext_refcnt_set(&shared, 1);
  rte_mbuf* foreign = rte_pktmbuf_alloc(tx_pool_);
  ASSERT_NE(foreign, nullptr);
  rte_pktmbuf_attach_extbuf(foreign, memory, RTE_BAD_IOVA, kLength - 1, &shared);
  foreign->data_len = 1000;
  foreign->pkt_len = 1000;
  ASSERT_EQ(rte_eth_tx_burst(0, 0, &foreign, 1), 1);
  ASSERT_TRUE(eventually([this] {
    poll();  // what is in front of it needs buffers: the wire is lossless
    rte_eth_tx_burst(0, 0, nullptr, 0);
    return xstat(0, "tx_phy_errors") == 1;
  }));
  const uint64_t before = xstat(1, "rx_good_packets");
  send_until(1000);
  EXPECT_GE(xstat(1, "rx_good_packets"), before + 1000);
  EXPECT_EQ(xstat(0, "tx_phy_errors"), 1u);
  stop();
  munmap(memory, kLength);
}

// Buffers that come into the pool after the driver has registered its memory. Each frame for one of
// them is refused; none is written.
TEST_F(Fault, MemoryAddedLateIsCaughtOnRx) {
  rte_mempool_free(rx_pool_);
  rte_pktmbuf_pool_private layout{};
  layout.mbuf_data_room_size = kDataRoom + RTE_PKTMBUF_HEADROOM;
  constexpr uint32_t kElement = sizeof(rte_mbuf) + kDataRoom + RTE_PKTMBUF_HEADROOM;
  rx_pool_ =
      rte_mempool_create_empty("late", kBuffers, kElement, 0, sizeof layout, SOCKET_ID_ANY, 0);
  ASSERT_NE(rx_pool_, nullptr);
  rte_pktmbuf_pool_init(rx_pool_, &layout);
  const auto add_memory = [this](size_t length) {
    void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    // Any valid IOVA: the device goes by virtual addresses.
    EXPECT_GT(
        rte_mempool_populate_iova(
            rx_pool_, static_cast<char*>(memory), reinterpret_cast<rte_iova_t>(memory), length,
            [](rte_mempool_memhdr* chunk, void*) { munmap(chunk->addr, chunk->len); }, nullptr),
        0);
  };
  // The first megabyte is more than the ring takes.
  add_memory(1500 * uint64_t{kElement});
  rte_mempool_obj_iter(rx_pool_, rte_pktmbuf_init, nullptr);
  start({});
  send_until(500);
  // A hole between the two, or the driver might have registered them as one.
  void* hole = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint32_t first = rx_pool_->populated_size;
  add_memory(2000 * uint64_t{kElement});
  rte_mempool_obj_iter(rx_pool_, rte_pktmbuf_init, nullptr);
  const uint32_t all = rx_pool_->populated_size;
  ASSERT_GT(all, first);
  ASSERT_TRUE(eventually([this] {
    rte_mbuf* mbuf = make(numbered(0));
    if (mbuf != nullptr && rte_eth_tx_burst(0, 0, &mbuf, 1) == 0) rte_pktmbuf_free(mbuf);
    poll();
    return xstat(1, "rx_wqe_errors") > 0;
  }));
  stop();
  EXPECT_EQ(rte_mempool_avail_count(rx_pool_), all);
  rte_mempool_free(rx_pool_);
  rx_pool_ = nullptr;
  munmap(hole, 1 << 20);
}

}  // namespace
}  // namespace nearpool::connectx4::test
