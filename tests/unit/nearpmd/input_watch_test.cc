// SPDX-License-Identifier: BSD-3-Clause
#include "control/input_watch.hpp"

#include <gtest/gtest.h>

namespace nearpool {
namespace {

TEST(InputWatch, EndsWhenQuietAndPolled) {
  InputWatch watch(0.1);
  EXPECT_FALSE(watch.ended(0, 0, 5.0));
  EXPECT_FALSE(watch.ended(10, 100, 5.05));
  EXPECT_FALSE(watch.ended(10, 1000, 5.14));
  EXPECT_TRUE(watch.ended(10, 1000, 5.15));
}

TEST(InputWatch, ALcoreThatWasNotRunIsNotIdle) {
  InputWatch watch(0.1);
  EXPECT_FALSE(watch.ended(10, 100, 0.0));
  EXPECT_FALSE(watch.ended(10, 100 + InputWatch::kPolls - 1, 60.0));
  EXPECT_TRUE(watch.ended(10, 100 + InputWatch::kPolls, 60.0));
}

TEST(InputWatch, EachArrivalBeginsAgain) {
  InputWatch watch(0.1);
  uint64_t polls = 0;
  for (int i = 0; i < 100; i++) {
    EXPECT_FALSE(watch.ended(static_cast<uint64_t>(i), polls += 1000, i * 0.09));
  }
}

// A file may be empty: the end is found all the same.
TEST(InputWatch, NothingEverArrives) {
  InputWatch watch(0.1);
  EXPECT_FALSE(watch.ended(0, 0, 0.0));
  EXPECT_TRUE(watch.ended(0, 1000, 0.2));
}

}  // namespace
}  // namespace nearpool
