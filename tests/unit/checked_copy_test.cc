// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/checked_copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nearpool {
namespace {

constexpr AddressRange kRange{0x1000, 0x9000};

void* page(uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

std::vector<void*> inside(uint32_t n) {
  std::vector<void*> pages;
  for (uint32_t i = 0; i < n; ++i)
    pages.push_back(page(kRange.lo + i * 0x40));
  return pages;
}

// Around each number of pages a step of the loop takes, and at places of any alignment.
TEST(CheckedCopy, CopiesAllAndNothingElse) {
  for (uint32_t n = 1; n <= 70; ++n) {
    for (uint32_t shift = 0; shift < 8; ++shift) {
      const std::vector<void*> from = inside(n);
      std::vector<void*> to(n + shift + 8, nullptr);
      ASSERT_TRUE(best_checked_copy()(to.data() + shift, from.data(), n, kRange));
      for (uint32_t i = 0; i < to.size(); ++i) {
        const bool copied = i >= shift && i < shift + n;
        ASSERT_EQ(to[i], copied ? from[i - shift] : nullptr) << n << " pages, place " << i;
      }
    }
  }
}

TEST(CheckedCopy, FindsOneOutsideWhereverItIs) {
  for (uint32_t n = 1; n <= 70; ++n) {
    for (uint32_t where = 0; where < n; ++where) {
      for (const uintptr_t outside : {kRange.lo - 1, kRange.hi, uintptr_t{0}, uintptr_t{1} << 46}) {
        std::vector<void*> from = inside(n);
        from[where] = page(outside);
        std::vector<void*> to(n);
        ASSERT_FALSE(best_checked_copy()(to.data(), from.data(), n, kRange))
            << n << " pages, " << outside << " at " << where;
      }
    }
  }
}

TEST(CheckedCopy, KnowsTheEdgesOfTheRange) {
  void* to[1];
  for (const uintptr_t edge : {kRange.lo, kRange.hi - 1}) {
    void* const from[] = {page(edge)};
    EXPECT_TRUE(best_checked_copy()(to, from, 1, kRange));
  }
  void* const any[] = {page(kRange.lo)};
  EXPECT_FALSE(best_checked_copy()(to, any, 1, AddressRange{})) << "an empty range holds nothing";
}

}  // namespace
}  // namespace nearpool
