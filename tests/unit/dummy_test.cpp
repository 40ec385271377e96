// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

TEST(Dummy, Good) {
  EXPECT_EQ(1, 1);
}
