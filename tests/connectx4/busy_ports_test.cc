// SPDX-License-Identifier: BSD-3-Clause
// Control calls from several threads, while the device threads pass frames. Under ThreadSanitizer
// this shows what the two do not agree on.
#include <thread>

#include "verbs_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class Busy : public Verbs {
 protected:
  static constexpr uint32_t kFrame = 200;
  static constexpr uint32_t kRounds = 150;

  // What a program makes and takes away again.
  static void make_and_destroy(ibv_context* context, uint8_t seed) {
    ibv_pd* domain = ibv_alloc_pd(context);
    Pages pages(2);
    ibv_mr* region = ibv_reg_mr(domain, pages.data(), pages.size(), kWritable);
    EXPECT_NE(region, nullptr);
    {
      SendRingByHand send(domain, 16);
      // Rules of its own would take the frames away: this one is for an address nobody sends to.
      ReceiveRingByHand receive(domain, 16, 1, seed);
      receive.post(pages.data(), 2048, region->lkey);
      EXPECT_EQ(receive.modify(IBV_WQS_ERR), 0);
      receive.restart();
      send.restart();
    }
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
  }
};

TEST_F(Busy, ControlCallsWhileFramesPass) {
  SendRingByHand send(near_domain_, 64);
  ReceiveRingByHand receive(far_domain_, 64);
  std::atomic<uint32_t> running{4};
  std::vector<std::thread> threads;
  for (uint8_t i = 0; i < 4; ++i) {
    threads.emplace_back([this, &running, i] {
      for (uint32_t round = 0; round < kRounds; ++round)
        make_and_destroy((i % 2 == 0 ? near_ : far_).get(), static_cast<uint8_t>(0x40 + i));
      --running;
    });
  }
  uint32_t passed = 0;
  while (running != 0 || passed == 0) {
    std::memset(in_->data(), 0, kFrame);
    receive.post(in_->data(), 2048, in_region_->lkey);
    send.write_entry(out_->data(), kFrame, out_region_->lkey);
    send.post();
    EXPECT_EQ(send.completions().wait().opcode, 0);
    const Completion arrived = receive.completions().wait();
    EXPECT_EQ(arrived.opcode, 2);
    EXPECT_EQ(arrived.bytes, kFrame);
    EXPECT_EQ(std::memcmp(in_->data(), out_->data(), kFrame), 0);
    ++passed;
    if (HasFailure()) break;
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GT(passed, 0u);
}

}  // namespace
}  // namespace nearpool::connectx4::test
