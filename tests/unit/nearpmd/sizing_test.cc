// SPDX-License-Identifier: BSD-3-Clause
#include "control/sizing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nearpool {
namespace {

TEST(Sizing, CountsRingsAndWhatIsInHand) {
  const std::vector<PortShape> ports{{2, 1024, 2, 512}, {1, 256, 16, 4096}};
  SizingInput input;
  input.ports = ports;
  input.lcores = 2;
  input.burst = 32;
  input.cache = 512;
  input.bulk = 32;
  const Sizing sizing = size_pages(input);
  EXPECT_EQ(sizing.rx_rings, 2u * 1024 + 256);
  EXPECT_EQ(sizing.tx_rings, 2u * 512 + 16 * 4096);  // lazily freed: all of it counts
  const uint32_t per_queue = 2 * 32 + 768 + 2 * 32;
  EXPECT_EQ(sizing.in_hand, 3 * per_queue);
  EXPECT_EQ(sizing.total, sizing.rx_rings + sizing.tx_rings + sizing.in_hand);
  EXPECT_EQ(sizing.queue, 1024 + sizing.tx_rings + per_queue);
}

TEST(Sizing, QuotaIsWhatTheQueueUsesOrItsShare) {
  const std::vector<PortShape> ports{{2, 1024, 2, 512}};
  SizingInput input;
  input.ports = ports;
  const Sizing sizing = size_pages(input);
  EXPECT_EQ(sizing.queues, 2u);
  EXPECT_EQ(default_quota(sizing, 64), sizing.queue);
  EXPECT_EQ(default_quota(sizing, 2 * sizing.queue), sizing.queue);
  EXPECT_EQ(default_quota(sizing, 131072), 65536u);
  EXPECT_EQ(default_quota(Sizing{}, 100), 100u);
}

TEST(Sizing, FullRingsLeaveTheHighWatermarkFree) {
  for (uint32_t rxd = 1; rxd < 5000; rxd += 7) {
    const std::vector<PortShape> ports{{1, rxd, 1, 64}};
    SizingInput input;
    input.ports = ports;
    const Sizing sizing = size_pages(input);
    EXPECT_GE(sizing.arena - sizing.arena / 16, sizing.total) << rxd;
  }
}

TEST(Sizing, HandOversAndStockCachesNeedMore) {
  const std::vector<PortShape> ports{{1, 64, 1, 64}};
  SizingInput input;
  input.ports = ports;
  input.lcores = 4;
  const uint32_t plain = size_pages(input).total;
  input.handoff = true;
  EXPECT_EQ(size_pages(input).total, plain + kHandoffRing);
  input.handoff = false;
  input.stock = true;
  EXPECT_EQ(size_pages(input).total, plain + 4 * (768 - 64));
}

TEST(Sizing, TheWarningHasTheNumbers) {
  const std::vector<PortShape> ports{{1, 1024, 1, 1024}};
  SizingInput input;
  input.ports = ports;
  const Sizing sizing = size_pages(input);
  EXPECT_EQ(sizing_warning(sizing, sizing.total), "");
  const std::string text = sizing_warning(sizing, sizing.total - 1);
  EXPECT_NE(text.find(std::to_string(sizing.total)), std::string::npos);
  EXPECT_NE(text.find(std::to_string(sizing.total - 1)), std::string::npos);
  EXPECT_NE(text.find("--total-num-pages " + std::to_string(sizing.arena)), std::string::npos);
}

}  // namespace
}  // namespace nearpool
