// SPDX-License-Identifier: BSD-3-Clause
// The free pages of one node: order, watermarks with hysteresis, the reserve, forced pressure.
#include "page_arena/free_list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nearpool {
namespace {

class FreeListTest : public testing::Test {
 protected:
  static constexpr uint32_t kPages = 100;

  // Pages are numbers here: the list never looks at them.
  void fill(Watermarks marks) {
    list_.init(slots_, kPages, marks);
    for (uintptr_t i = 1; i <= kPages; ++i) {
      void* page = reinterpret_cast<void*>(i);
      ASSERT_TRUE(list_.give(&page, 1));
    }
    out_ = 0;
  }
  FreeList::Taken take(uint32_t n, bool reserve = true) {
    const FreeList::Taken taken = list_.take(pages_ + out_, n, reserve);
    out_ += taken.pages;
    return taken;
  }
  void give(uint32_t n) {
    out_ -= n;
    ASSERT_TRUE(list_.give(pages_ + out_, n));
  }
  // Takes or gives until so many are free.
  void reach(uint32_t free) {
    if (list_.free_pages() > free) {
      take(list_.free_pages() - free);
    } else {
      give(free - list_.free_pages());
    }
    ASSERT_EQ(list_.free_pages(), free);
  }

  FreeList list_;
  void* slots_[kPages] = {};
  void* pages_[kPages] = {};
  uint32_t out_ = 0;
};

TEST_F(FreeListTest, LastInFirstOut) {
  fill({});
  take(10);
  for (uintptr_t i = 0; i < 10; ++i)
    EXPECT_EQ(pages_[i], reinterpret_cast<void*>(91 + i));
  give(10);
  void* newest = reinterpret_cast<void*>(uintptr_t{100});
  EXPECT_EQ(list_.slots()[list_.free_pages() - 1], newest);
}

TEST_F(FreeListTest, AllOrNoneAndThenNothingIsWritten) {
  fill({});
  take(60);
  void* table[41] = {};
  EXPECT_EQ(list_.take(table, 41, true).pages, 0u);
  for (void* entry : table)
    EXPECT_EQ(entry, nullptr);
  EXPECT_EQ(list_.free_pages(), 40u);
  EXPECT_EQ(list_.take(table, 40, true).pages, 40u);
  EXPECT_EQ(list_.take(table, 1, true).pages, 0u);
  EXPECT_EQ(list_.take(table, 0, true).pages, 0u);
}

TEST_F(FreeListTest, MoreThanThereIsRoomForIsNotTakenIn) {
  fill({});
  void* page = reinterpret_cast<void*>(uintptr_t{7});
  EXPECT_FALSE(list_.give(&page, 1));
  EXPECT_EQ(list_.free_pages(), kPages);
  take(1);
  void* two[2] = {page, page};
  EXPECT_FALSE(list_.give(two, 2));
  EXPECT_EQ(list_.free_pages(), kPages - 1) << "not even in part";
  EXPECT_TRUE(list_.give(two, 1));
}

TEST_F(FreeListTest, MinIsCrossedBothWaysWithHysteresis) {
  fill({.min = 10, .low = 20, .high = 40});
  reach(10);
  EXPECT_FALSE(list_.levels().pressed) << "at min, not below";
  EXPECT_EQ(list_.levels().below_min, 0u);
  EXPECT_EQ(take(1).pressure, 1u);
  EXPECT_TRUE(list_.levels().pressed);
  EXPECT_EQ(list_.levels().below_min, 1u);
  reach(19);
  EXPECT_TRUE(list_.levels().pressed) << "above min again, but not at low";
  EXPECT_EQ(take(3).pressure, 3u);
  EXPECT_EQ(list_.levels().below_min, 1u) << "it never left";
  reach(20);
  EXPECT_FALSE(list_.levels().pressed);
  EXPECT_EQ(take(3).pressure, 0u);
  EXPECT_FALSE(list_.levels().pressed) << "below low is not below min";
  // A take that crosses min: only the pages below it are pressure pages.
  reach(20);
  EXPECT_EQ(take(15).pressure, 5u);
  EXPECT_EQ(list_.levels().below_min, 2u);
}

TEST_F(FreeListTest, LowAndHighBoundTheRequestForSurplus) {
  fill({.min = 10, .low = 20, .high = 40});
  reach(20);
  EXPECT_FALSE(list_.asking()) << "at low, not below";
  reach(19);
  EXPECT_TRUE(list_.asking());
  EXPECT_EQ(list_.levels().below_low, 1u);
  reach(39);
  EXPECT_TRUE(list_.asking()) << "until high";
  reach(15);
  EXPECT_EQ(list_.levels().below_low, 1u) << "it never stopped";
  reach(40);
  EXPECT_FALSE(list_.asking());
  reach(25);
  EXPECT_FALSE(list_.asking()) << "between low and high it stays as it was";
  reach(5);
  EXPECT_TRUE(list_.asking());
  EXPECT_EQ(list_.levels().below_low, 2u);
}

TEST_F(FreeListTest, TheReserveIsForThoseWhoMay) {
  fill({.min = 10, .low = 20, .high = 40});
  EXPECT_EQ(take(91, false).pages, 0u) << "one of them would come from the reserve";
  EXPECT_EQ(take(90, false).pages, 90u);
  EXPECT_EQ(list_.levels().below_min, 0u);
  EXPECT_EQ(take(1, false).pages, 0u);
  EXPECT_EQ(take(4, true).pressure, 4u);
  give(10);
  EXPECT_EQ(list_.free_pages(), 16u);
  EXPECT_EQ(take(1, false).pages, 0u) << "under pressure until low";
  EXPECT_EQ(take(16, true).pages, 16u) << "the reserve is used up to the last page";
  EXPECT_EQ(list_.levels().free, 0u);
}

TEST_F(FreeListTest, ForcedPressureNeedsNoWatermarks) {
  fill({});
  list_.force_pressure(true);
  EXPECT_TRUE(list_.levels().forced);
  EXPECT_TRUE(list_.levels().pressed);
  EXPECT_EQ(take(5, false).pages, 0u);
  EXPECT_EQ(take(5, true).pressure, 5u);
  EXPECT_EQ(list_.levels().below_min, 0u) << "nothing fell below anything";
  list_.force_pressure(false);
  EXPECT_EQ(take(5, false).pages, 5u);
  EXPECT_EQ(take(5, true).pressure, 0u);
}

TEST_F(FreeListTest, ForcedPressureDoesNotHideTheRealOne) {
  fill({.min = 10, .low = 20, .high = 40});
  list_.force_pressure(true);
  reach(5);
  EXPECT_EQ(list_.levels().below_min, 1u);
  list_.force_pressure(false);
  EXPECT_TRUE(list_.levels().pressed) << "below min by itself";
  reach(20);
  EXPECT_FALSE(list_.levels().pressed);
}

TEST_F(FreeListTest, WithoutWatermarksNothingIsEverUnderPressure) {
  fill({});
  EXPECT_EQ(take(100).pressure, 0u);
  EXPECT_FALSE(list_.levels().pressed);
  EXPECT_FALSE(list_.asking());
  EXPECT_EQ(list_.levels().below_low, 0u);
}

// The three marks may be one.
TEST_F(FreeListTest, EqualWatermarks) {
  fill({.min = 50, .low = 50, .high = 50});
  reach(50);
  EXPECT_FALSE(list_.asking());
  reach(49);
  EXPECT_TRUE(list_.asking());
  EXPECT_TRUE(list_.levels().pressed);
  reach(50);
  EXPECT_FALSE(list_.asking());
  EXPECT_FALSE(list_.levels().pressed);
}

}  // namespace
}  // namespace nearpool
