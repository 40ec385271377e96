// SPDX-License-Identifier: BSD-3-Clause
#include "control/rebalance.hpp"

#include <gtest/gtest.h>

namespace nearpool {
namespace {

using Loads = std::vector<QueueLoad>;
using Lcores = std::vector<LcorePlace>;

TEST(ChooseMove, FromTheOverloadedToTheIdle) {
  const Loads loads{{{0, 0}, 0, 1, 0.5}, {{0, 1}, 0, 1, 0.45}, {{1, 0}, 0, 2, 0.1}};
  const auto move = choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.8, 0.1);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->key, (QueueKey{0, 1}));  // leaves 0.5 and 0.55: better than 0.45 and 0.6
  EXPECT_EQ(move->from, 1u);
  EXPECT_EQ(move->to, 2u);
  EXPECT_NEAR(move->before, 0.95, 1e-9);
  EXPECT_NEAR(move->after, 0.55, 1e-9);
}

TEST(ChooseMove, NotBelowTheThreshold) {
  const Loads loads{{{0, 0}, 0, 1, 0.4}, {{0, 1}, 0, 1, 0.39}};
  EXPECT_FALSE(choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.8, 0.1));
  EXPECT_TRUE(choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.79, 0.1));
}

TEST(ChooseMove, NotForLessThanTheGain) {
  const Loads loads{{{0, 0}, 0, 1, 0.6}, {{0, 1}, 0, 1, 0.35}, {{1, 0}, 0, 2, 0.5}};
  // Moving 0.35 leaves 0.6 and 0.85: 0.10 less than 0.95.
  EXPECT_FALSE(choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.8, 0.11));
  EXPECT_TRUE(choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.8, 0.09));
}

TEST(ChooseMove, ALoneQueueStays) {
  const Loads loads{{{0, 0}, 0, 1, 1.0}};
  EXPECT_FALSE(choose_move(loads, Lcores{{1, 0}, {2, 0}}, 0.8, 0.1));
}

TEST(ChooseMove, TheNodeOfThePortWhereBothHelp) {
  const Loads loads{{{0, 0}, 1, 1, 0.5}, {{0, 1}, 1, 1, 0.5}};
  const auto move = choose_move(loads, Lcores{{1, 0}, {2, 0}, {3, 1}}, 0.8, 0.1);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->to, 3u);
}

TEST(ChooseMove, AcrossNodesWhereOnlyThatHelps) {
  const Loads loads{{{0, 0}, 0, 1, 0.5}, {{0, 1}, 0, 1, 0.5}, {{1, 0}, 0, 2, 0.9}};
  const auto move = choose_move(loads, Lcores{{1, 0}, {2, 0}, {3, 1}}, 0.8, 0.1);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->to, 3u);
}

}  // namespace
}  // namespace nearpool
