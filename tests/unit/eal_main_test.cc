// SPDX-License-Identifier: BSD-3-Clause
// The shared main itself: eight lcores, and memory of the kind it says.
#include "eal_main.hpp"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

TEST(EalMain, EightLcores) {
  EXPECT_EQ(rte_lcore_count(), 8U);
}

TEST(EalMain, MemoryIsThere) {
  void* memory = rte_malloc(nullptr, 1 << 20, 0);
  ASSERT_NE(memory, nullptr);
  rte_free(memory);
}

TEST(EalMain, HugepagesAreWhatTheEalSays) {
  EXPECT_EQ(rte_eal_has_hugepages() != 0, nearpool::test::have_hugepages());
}
