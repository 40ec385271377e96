// SPDX-License-Identifier: BSD-3-Clause
#include "control/memlock.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace nearpool {
namespace {

TEST(Memlock, NamesTheLimitAndBothNumbers) {
  const std::string sentence = memlock_warning(10'000'000, 65536, false);
  for (const char* part : {"RLIMIT_MEMLOCK", "65536", "10000000", "ulimit -l", "CAP_IPC_LOCK"}) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
}

TEST(Memlock, IsSilentWhereTheLimitDoesNotBind) {
  EXPECT_EQ(memlock_warning(65536, 65536, false), "");
  EXPECT_EQ(memlock_warning(10'000'000, 65536, true), "");
  EXPECT_EQ(memlock_warning(10'000'000, RLIM_INFINITY, false), "");
}

TEST(Memlock, OfThisProcess) {
  EXPECT_EQ(memlock_warning(0), "");
}

}  // namespace
}  // namespace nearpool
