// SPDX-License-Identifier: BSD-3-Clause
#include "control/rx_watchdog.hpp"

#include <gtest/gtest.h>

namespace nearpool {
namespace {

TEST(RxWatchdog, SaysASilenceOnceAndItsEnd) {
  RxWatchdog watchdog;
  EXPECT_EQ(watchdog.look(0, 5, true, 100, 10), "");
  EXPECT_EQ(watchdog.look(0, 6, true, 105, 10), "");
  EXPECT_EQ(watchdog.look(0, 6, true, 114.9, 10), "");
  EXPECT_EQ(watchdog.look(0, 6, true, 115, 10),
            "port 0: no frame for 10 s while its link is up (--rx-watchdog)");
  EXPECT_EQ(watchdog.look(0, 6, true, 200, 10), "");
  EXPECT_EQ(watchdog.look(0, 7, true, 205, 10), "port 0: frames come in again, after 100 s");
  EXPECT_EQ(watchdog.look(0, 7, true, 214, 10), "");
}

TEST(RxWatchdog, APortThatNeverReceivedMissesNothing) {
  RxWatchdog watchdog;
  EXPECT_EQ(watchdog.look(0, 0, true, 0, 10), "");
  EXPECT_EQ(watchdog.look(0, 0, true, 100, 10), "");
}

TEST(RxWatchdog, ALinkThatIsDownExplainsItself) {
  RxWatchdog watchdog;
  EXPECT_EQ(watchdog.look(0, 5, true, 0, 10), "");
  EXPECT_EQ(watchdog.look(0, 5, false, 20, 10), "");
  EXPECT_EQ(watchdog.look(0, 5, true, 29, 10), "");
  EXPECT_NE(watchdog.look(0, 5, true, 30, 10), "");
}

TEST(RxWatchdog, ZeroIsNever) {
  RxWatchdog watchdog;
  EXPECT_EQ(watchdog.look(0, 5, true, 0, 0), "");
  EXPECT_EQ(watchdog.look(0, 5, true, 1e6, 0), "");
}

TEST(RxWatchdog, EachPortForItself) {
  RxWatchdog watchdog;
  watchdog.look(0, 5, true, 0, 10);
  watchdog.look(1, 5, true, 5, 10);
  EXPECT_NE(watchdog.look(0, 5, true, 10, 10), "");
  EXPECT_EQ(watchdog.look(1, 5, true, 10, 10), "");
  watchdog.forget(0);
  EXPECT_EQ(watchdog.look(0, 5, true, 30, 10), "");
}

}  // namespace
}  // namespace nearpool
