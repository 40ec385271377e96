// SPDX-License-Identifier: BSD-3-Clause
#include "device/memory_region.hpp"

#include <gtest/gtest.h>

#include <set>

namespace nearpool::connectx4 {
namespace {

class MemoryRegion : public ::testing::Test {
 protected:
  Region* add(uint64_t start, uint64_t length, bool writable = true,
              const ProtectionDomain* domain = nullptr) {
    auto region = std::make_unique<Region>();
    region->domain = domain == nullptr ? &domain_ : domain;
    region->start = start;
    region->end = start + length;
    region->offset = kOffset;
    region->writable = writable;
    return table_.add(std::move(region));
  }
  bool allowed(uint32_t key, uint64_t address, uint32_t length, Access access = Access::kWrite) {
    uint8_t* memory = cache_.translate(table_, &domain_, key, address, length, access);
    if (memory == nullptr) return false;
    EXPECT_EQ(reinterpret_cast<uint64_t>(memory), address + kOffset);
    return true;
  }

  static constexpr int64_t kOffset = 0x100000;
  ProtectionDomain domain_;
  ProtectionDomain other_;
  RegionTable table_;
  RegionCache cache_;
};

TEST_F(MemoryRegion, EveryByteCounts) {
  const uint32_t key = add(0x1000, 0x1000)->key;
  EXPECT_TRUE(allowed(key, 0x1000, 0x1000));
  EXPECT_TRUE(allowed(key, 0x1fff, 1));
  EXPECT_FALSE(allowed(key, 0x0fff, 1));
  EXPECT_FALSE(allowed(key, 0x1fff, 2));
  EXPECT_FALSE(allowed(key, 0x2000, 1));
  EXPECT_FALSE(allowed(key, 0x1001, 0x1000));
}

TEST_F(MemoryRegion, NoSumOverflows) {
  const uint32_t low = add(0x1000, 0x1000)->key;
  EXPECT_FALSE(allowed(low, ~uint64_t{0}, 0x2000));
  EXPECT_FALSE(allowed(low, ~uint64_t{0} - 0xfff, 0xffffffff));
  const uint32_t high = add(~uint64_t{0} - 0xffff, 0xffff)->key;
  EXPECT_TRUE(allowed(high, ~uint64_t{0} - 0xffff, 0xffff));
  EXPECT_FALSE(allowed(high, ~uint64_t{0} - 0x10, 0x20));
}

TEST_F(MemoryRegion, WrongKeysAreRefused) {
  const uint32_t key = add(0x1000, 0x1000)->key;
  ASSERT_TRUE(allowed(key, 0x1000, 1));
  for (const uint32_t wrong : {0u, key + 1, key ^ 0x100u, key + 0x1000000u, ~0u}) {
    EXPECT_FALSE(allowed(wrong, 0x1000, 1)) << wrong;
  }
  EXPECT_TRUE(allowed(key, 0x1000, 1));
}

TEST_F(MemoryRegion, AnotherDomainsRegionIsRefused) {
  const uint32_t key = add(0x1000, 0x1000, true, &other_)->key;
  EXPECT_FALSE(allowed(key, 0x1000, 1));
}

TEST_F(MemoryRegion, ReadOnlyMemoryIsNotWritten) {
  const uint32_t key = add(0x1000, 0x1000, false)->key;
  EXPECT_TRUE(allowed(key, 0x1000, 1, Access::kRead));
  EXPECT_FALSE(allowed(key, 0x1000, 1, Access::kWrite));
}

TEST_F(MemoryRegion, ARegionThatIsGoneIsNotRemembered) {
  Region* region = add(0x1000, 0x1000);
  const uint32_t key = region->key;
  ASSERT_TRUE(allowed(key, 0x1000, 1));
  table_.remove(region);
  EXPECT_FALSE(allowed(key, 0x1000, 1));
  // The slot is used again under another key; the old one stays dead.
  const uint32_t next = add(0x1000, 0x1000)->key;
  EXPECT_NE(next, key);
  EXPECT_FALSE(allowed(key, 0x1000, 1));
  EXPECT_TRUE(allowed(next, 0x1000, 1));
}

TEST_F(MemoryRegion, ManyRegionsHaveKeysOfTheirOwn) {
  std::set<uint32_t> keys;
  for (uint64_t i = 0; i < 20000; ++i)
    keys.insert(add(i * 0x1000, 0x1000)->key);
  EXPECT_EQ(keys.size(), 20000u);
  EXPECT_EQ(table_.count(), 20000u);
  uint64_t start = 0;
  for (const uint32_t key : std::set<uint32_t>(keys)) {
    EXPECT_TRUE(allowed(key, start, 0x1000));
    start += 0x1000;
  }
}

}  // namespace
}  // namespace nearpool::connectx4
