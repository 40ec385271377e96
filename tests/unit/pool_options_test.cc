// SPDX-License-Identifier: BSD-3-Clause
// What a queue pool refuses to be made of.
#include <string>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class PoolOptionsTest : public PoolTest {};

// Each bound once, with its sentence; a refused pool leaves nothing behind.
TEST_F(PoolOptionsTest, BadOptionsAreNamedWithTheirValueAndRange) {
  page_arena* arena = make_arena();
  const std::string all = std::to_string(created());
  const auto refused = [&](auto change) {
    page_pool_params params = defaults(arena);
    change(params);
    page_pool* pool = nullptr;
    EXPECT_EQ(page_pool_create(&params, &pool), -EINVAL);
    EXPECT_EQ(pool, nullptr);
    return std::string(page_pool_error());
  };
  EXPECT_EQ(refused([](auto& p) { p.quota = 0; }),
            "pool pool: quota 0 is not in 1 to " + all + ", the pages of arena test");
  EXPECT_EQ(refused([&](auto& p) { p.quota = created() + 1; }),
            "pool pool: quota " + std::to_string(created() + 1) + " is not in 1 to " + all +
                ", the pages of arena test");
  EXPECT_EQ(refused([](auto& p) { p.ring_size = 63; }),
            "pool pool: ring size 63 is neither 0 (room for the quota) nor in 64 to 1048576");
  EXPECT_EQ(refused([](auto& p) { p.stash_size = 1; }),
            "pool pool: stash size 1 is neither 0 (the quota) nor in 64 to 1048576");
  EXPECT_EQ(refused([](auto& p) { p.cache_size = 513; }),
            "pool pool: cache size 513 is not in 0 to 512");
  EXPECT_EQ(refused([](auto& p) { p.bulk = 3; }),
            "pool pool: bulk 3 is neither 0 (for 64) nor in 4 to 512");
  EXPECT_EQ(refused([](auto& p) { p.node = 32; }),
            "pool pool: node 32 is neither -1 (that of the calling thread) nor in 0 to 31");
  EXPECT_EQ(refused([](auto& p) { p.flags = 1u << 31; }),
            "pool pool: flags 0x80000000 are not known, allowed are 0x3f");
  EXPECT_EQ(refused([](auto& p) { p.name = "a name"; }),
            "pool name 'a name' is not 1 to 24 letters, digits, '_', '-' or '.'");
  EXPECT_EQ(refused([](auto& p) { p.name = "a-name-that-is-far-too-long"; }),
            "pool name 'a-name-that-is-far-too-long' is not 1 to 24 letters, digits, '_', '-' or "
            "'.'");
  page_pool* pool = make_pool(defaults(arena, "the-longest-name-allowed"));
  page_pool* twin = nullptr;
  page_pool_params params = defaults(arena, "the-longest-name-allowed");
  EXPECT_EQ(page_pool_create(&params, &twin), -EEXIST);
  EXPECT_STREQ(page_pool_error(),
               "pool the-longest-name-allowed: the EAL makes no mempool for it: a mempool of that "
               "name exists");
  expect_books({{pool, 0}});
}

}  // namespace
}  // namespace nearpool::test
