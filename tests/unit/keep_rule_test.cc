// SPDX-License-Identifier: BSD-3-Clause
// Each clause of the keep rule alone and together, in the pool itself: nid 0 to 1 to 0 while pages
// are out, fallback, pressure, references, and the same page for page in relaxed and strict mode.
//
// Without a clause, these turn red (tried by removing each from keep_rule.hpp, in turn):
//   1 foreign    KeepRuleTest.ForeignPagesGoHomeAfterAMove, .ClausesAlone, .StashAndRing...
//   2 pressure   PressureTest.PressurePagesAreNotKept, .Forced... (pressure_test.cc), .ClausesAlone
//   3 references HardenedTest.APageOthersReferToIsNotTakenIn (hardened_test.cc)
// And without what makes the rule hold; PropertyTest (property_test.cc) is red for those with *:
//   knock in become_strict     .AFallbackOfAnotherLcoreClosesTheConsumersCache and most of the rest
//   unchecked_ in move_to *    .TakesAfterAMoveAreLocalWhateverIsStashed, .StashAndRing...
//   unchecked_ in set_flags *  PressureTest.TogglesMakeTheDifference
//   sift in drain_ring *       .StashAndRing...
//   sift in leave, in a put that overflows; knock in take_over: RuleChangeTest, in turn
//   knock of a dying pool      DyingTest.SingleReturnsOfOtherLcoresAreNotGathered
//   quota in take_from_arena   QueuePoolTest.AnyNumberFromOneToTheQuota
// Not shown by any: the fences of the modes, since on x86 the exchange before them is one already,
// and that release() counts down last, which takes a pool freed at that very moment.
#include "page_pool/keep_rule.hpp"

#include <algorithm>
#include <set>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class KeepRuleTest : public PoolTest {
 protected:
  void poll(page_pool* pool, int node = kNear) { page_pool_nid_changed(pool, node); }
};

TEST_F(KeepRuleTest, ClausesAlone) {
  page_arena* arena = make_arena();
  page_pool* pool = make_pool(defaults(arena));
  PageArena& pages = QueuePoolProbe::arena(pool);
  page_arena_force_pressure(arena, kNear, true);
  const Pages pressed = take(pool, 1);
  page_arena_force_pressure(arena, kNear, false);
  const Pages near = take(pool, 1);
  page_pool_update_nid(pool, kFar);
  const Pages far = take(pool, 1);

  KeepRule rule{&pages, pages.range_of(0), 0, true, true};
  EXPECT_EQ(rule(near[0]), Verdict::kKeep);
  EXPECT_EQ(rule(far[0]), Verdict::kForeign);
  EXPECT_EQ(rule(pressed[0]), Verdict::kUnderPressure);
  rule = {&pages, pages.range_of(1), 1, true, true};
  EXPECT_EQ(rule(near[0]), Verdict::kForeign);
  EXPECT_EQ(rule(far[0]), Verdict::kKeep);
  EXPECT_EQ(rule(pressed[0]), Verdict::kForeign) << "the node is looked at first";
  rule.refuse_foreign = false;
  EXPECT_EQ(rule(near[0]), Verdict::kKeep);
  EXPECT_EQ(rule(pressed[0]), Verdict::kUnderPressure);
  rule.refuse_pressure = false;
  EXPECT_EQ(rule(pressed[0]), Verdict::kKeep);

  rule = {&pages, pages.range_of(0), 0, true, false};
  EXPECT_TRUE(rule.keeps_all(Pages{near[0], pressed[0]}.data(), 2));
  EXPECT_FALSE(rule.keeps_all(Pages{near[0], far[0]}.data(), 2));
  EXPECT_FALSE(rule.keeps_all(Pages{far[0], near[0]}.data(), 2));
  rule.refuse_pressure = true;
  EXPECT_FALSE(rule.keeps_all(near.data(), 1)) << "marks must be looked at one by one";
  // Bounds: the first and the last byte of a range, and both neighbours.
  const AddressRange& range = pages.range_of(0);
  const auto at = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_TRUE(range.holds(at(range.lo)));
  EXPECT_TRUE(range.holds(at(range.hi - 1)));
  EXPECT_FALSE(range.holds(at(range.lo - 1)));
  EXPECT_FALSE(range.holds(at(range.hi)));
  EXPECT_FALSE(range.holds(nullptr));
  EXPECT_FALSE(AddressRange{}.holds(at(range.lo)));

  put(pool, near);
  put(pool, far);
  put(pool, pressed);
  page_pool_flush_returns(pool);
}

TEST_F(KeepRuleTest, ForeignPagesGoHomeAfterAMove) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  poll(pool);
  const Pages out = take(pool, 200);
  ASSERT_EQ(count_on(kNear, out), 200u);
  const uint32_t owned = stats(pool).owned;
  EXPECT_FALSE(stats(pool).strict);

  EXPECT_TRUE(page_pool_nid_changed(pool, kFar));
  EXPECT_FALSE(page_pool_nid_changed(pool, kFar));
  EXPECT_EQ(stats(pool).nid, kFar);
  EXPECT_EQ(stats(pool).nid_updates, 1u);
  EXPECT_TRUE(stats(pool).strict);
  EXPECT_EQ(stats(pool).cached, 0u) << "the cache held pages of the old node";
  EXPECT_EQ(stats(pool).owned, 200u);
  EXPECT_EQ(stats(pool).owned_foreign, 200u);
  EXPECT_EQ(stats(pool).released, owned - 200);
  EXPECT_EQ(stats(pool).flushed, owned - 200);
  expect_books({{pool, 200}});

  const Pages far = take(pool, 150);
  EXPECT_EQ(count_on(kFar, far), 150u) << "what is taken after the move is local";
  put(pool, Pages(out.begin(), out.begin() + 199));
  EXPECT_EQ(stats(pool).foreign_refused, owned - 200 + 199);
  EXPECT_EQ(stats(pool).owned_foreign, 1u);
  EXPECT_TRUE(stats(pool).strict) << "one foreign page is out";
  put(pool, Pages(out.end() - 1, out.end()));
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  EXPECT_FALSE(stats(pool).strict) << "the last one is home";
  put(pool, far);
  EXPECT_EQ(stats(pool).owned_node[kFar], stats(pool).owned);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(KeepRuleTest, NearToFarToNearWhilePagesAreOut) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  poll(pool);
  const Pages first = take(pool, 100);
  poll(pool, kFar);
  const Pages second = take(pool, 100);
  EXPECT_EQ(stats(pool).owned_foreign, 100u);
  poll(pool, kNear);
  EXPECT_EQ(stats(pool).owned_foreign, 100u) << "now the second hundred is foreign";
  EXPECT_EQ(stats(pool).owned_node[kNear], 100u);
  put(pool, first);
  EXPECT_EQ(stats(pool).owned_node[kNear], 100u) << "pages that are local again are kept";
  EXPECT_TRUE(stats(pool).strict);
  put(pool, second);
  EXPECT_EQ(stats(pool).owned_node[kFar], 0u);
  poll(pool, kNear);
  EXPECT_FALSE(stats(pool).strict);
  EXPECT_EQ(stats(pool).nid_updates, 2u);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(KeepRuleTest, OtherLcoresSendForeignPagesHomeThemselves) {
  page_pool* pool = make_pool(defaults(make_arena()));
  Pages near;
  Pages far;
  {
    const AsLcore consumer(kConsumer);
    poll(pool);
    near = take(pool, 64);
    poll(pool, kFar);
    far = take(pool, 64);
  }
  {
    const AsLcore other(kOther);
    Pages mixed;
    for (unsigned i = 0; i < 64; ++i) {
      mixed.push_back(near[i]);
      mixed.push_back(far[i]);
    }
    put(pool, mixed, 1);
    page_pool_flush_returns(pool);
    EXPECT_EQ(stats(pool).ringed, 64u);
    EXPECT_EQ(stats(pool).owned_node[kNear], 0u);
  }
  const AsLcore consumer(kConsumer);
  poll(pool, kFar);
  EXPECT_FALSE(stats(pool).strict);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

// The kernel's pool lets pages that went into the ring before a move wait there, and those that
// recycle directly are never looked at again.
TEST_F(KeepRuleTest, StashAndRingAreLookedAtABoundedPiecePerPoll) {
  page_pool* pool = make_pool(defaults(make_arena()));
  {
    Pages pages;
    {
      const AsLcore consumer(kConsumer);
      poll(pool);
      pages = take(pool, 500);
      put(pool, Pages(pages.begin(), pages.begin() + 300));
      pages.erase(pages.begin(), pages.begin() + 300);
    }
    const AsLcore other(kOther);
    put(pool, pages);
    page_pool_flush_returns(pool);
  }
  const page_pool_stats before = stats(pool);
  ASSERT_EQ(before.ringed, 200u);
  ASSERT_GT(before.stashed, 200u);
  const AsLcore consumer(kConsumer);
  unsigned polls = 0;
  poll(pool, kFar);
  EXPECT_GT(stats(pool).owned_foreign, 0u) << "not all in one poll";
  while (stats(pool).owned_foreign != 0 && ++polls < 10)
    poll(pool, kFar);
  EXPECT_LT(polls, 10u);
  EXPECT_GE(polls, 1u);
  EXPECT_EQ(stats(pool).owned, 0u);
  EXPECT_FALSE(stats(pool).strict);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(KeepRuleTest, TakesAfterAMoveAreLocalWhateverIsStashed) {
  page_pool* pool = make_pool(defaults(make_arena()));
  const AsLcore consumer(kConsumer);
  poll(pool);
  put(pool, take(pool, 590));
  // Straight to the takes: no poll has had the time to look at the stash.
  page_pool_update_nid(pool, kFar);
  for (int i = 0; i < 10; ++i) {
    const Pages pages = take(pool, 50);
    ASSERT_EQ(pages.size(), 50u);
    EXPECT_EQ(count_on(kFar, pages), 50u);
    put(pool, pages);
  }
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(KeepRuleTest, AnEmptyNodeFallsBackToTheNextAndItsPagesAreNotKept) {
  page_arena* arena = make_arena();
  page_pool_params params = defaults(arena);
  params.quota = created();
  page_pool* pool = make_pool(params);
  const uint32_t near_pages = node_stats(arena, 0).pages;
  const AsLcore consumer(kConsumer);
  poll(pool);
  const Pages all = take(pool, near_pages + 100);
  ASSERT_EQ(all.size(), near_pages + 100);
  EXPECT_EQ(count_on(kFar, all), 100u);
  EXPECT_EQ(stats(pool).alloc_fallback, 100u);
  EXPECT_EQ(node_stats(arena, 1).fallback_taken, 100u);
  EXPECT_TRUE(stats(pool).strict);
  put(pool, all);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  EXPECT_EQ(node_stats(arena, 1).free, node_stats(arena, 1).pages);
  poll(pool);
  EXPECT_FALSE(stats(pool).strict);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(KeepRuleTest, ARefillNeverFallsBack) {
  page_arena* arena = make_arena();
  page_pool_params params = defaults(arena);
  params.quota = created();
  page_pool* pool = make_pool(params);
  page_pool* hoarder = make_pool([&] {
    page_pool_params p = params;
    p.name = "hoarder";
    return p;
  }());
  const uint32_t near_pages = node_stats(arena, 0).pages;
  const Pages hoard = take(hoarder, near_pages - 20);
  const AsLcore consumer(kConsumer);
  poll(pool);
  const Pages pages = take(pool, 20);
  EXPECT_EQ(count_on(kNear, pages), 20u);
  EXPECT_EQ(stats(pool).owned, 20u) << "the cache is not filled with pages of another node";
  EXPECT_EQ(stats(pool).alloc_fallback, 0u);
  EXPECT_FALSE(stats(pool).strict);
  put(pool, pages);
  page_pool_release(pool);
  put(hoarder, hoard);
  page_pool_flush_returns(hoarder);
}

TEST_F(KeepRuleTest, AnyNodeAndANodeWithoutMemoryAreResolvedFirst) {
  page_pool_params params = defaults(make_arena());
  params.node = PAGE_POOL_ANY_NODE;
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  for (int i = 0; i < 5; ++i) {
    poll(pool, PAGE_POOL_ANY_NODE);
    EXPECT_EQ(stats(pool).nid, kNear);
    put(pool, take(pool, 32));
  }
  EXPECT_EQ(stats(pool).released, 0u) << "compared with -1, nothing would be kept";
  EXPECT_TRUE(page_pool_nid_changed(pool, kMemoryless));
  EXPECT_EQ(stats(pool).nid, kFar) << "the nearest node with memory";
  EXPECT_FALSE(page_pool_nid_changed(pool, kMemoryless));
  page_pool_release(pool);
}

// A pool that turns strict while the consumer's cache is open to inline puts must not keep one
// foreign page through it.
TEST_F(KeepRuleTest, AFallbackOfAnotherLcoreClosesTheConsumersCache) {
  page_arena* arena = make_arena();
  page_pool_params params = defaults(arena);
  params.quota = created();
  page_pool* pool = make_pool(params);
  const AsLcore consumer(kConsumer);
  poll(pool);
  put(pool, take(pool, 8));
  ASSERT_FALSE(stats(pool).strict);
  Pages all;
  {
    const AsLcore other(kOther);
    all = take(pool, node_stats(arena, 0).free + stats(pool).stashed + 1);
  }
  ASSERT_EQ(count_on(kFar, all), 1u);
  EXPECT_TRUE(stats(pool).strict);
  for (void* page : all)
    put(pool, {page}, 1);
  EXPECT_EQ(stats(pool).owned_foreign, 0u);
  EXPECT_EQ(stats(pool).foreign_refused, 1u);
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

// Strict and relaxed keep the same pages in the same order when there is nothing to refuse.
TEST_F(KeepRuleTest, BothModesHandOutTheSamePagesInTheSameOrder) {
  page_arena* arena = make_arena();
  const auto run = [&](bool strict) {
    std::vector<Pages> seen;
    page_pool_params params = defaults(arena, strict ? "strict" : "relaxed");
    page_pool* pool = make_pool(params);
    const AsLcore consumer(kConsumer);
    Pages foreign;
    if (strict) {
      page_pool_update_nid(pool, kFar);
      foreign = take(pool, 1);
      page_pool_update_nid(pool, kNear);
      EXPECT_TRUE(stats(pool).strict);
    }
    poll(pool);
    unsigned seed = 7;
    std::vector<Pages> out;
    for (int step = 0; step < 2000; ++step) {
      seed = seed * 1664525u + 1013904223u;
      const unsigned n = 1 + (seed >> 16) % 48;
      if ((seed >> 8) % 3 != 0 && out.size() < 8) {
        out.push_back(take(pool, n));
        seen.push_back(out.back());
      } else if (!out.empty()) {
        put(pool, out.back(), n);
        out.pop_back();
      }
    }
    for (const Pages& pages : out)
      put(pool, pages);
    EXPECT_EQ(stats(pool).strict, strict);
    if (strict) put(pool, foreign);
    page_pool_release(pool);
    expect_books({{pool, 0}});
    destroy(pool);
    return seen;
  };
  const std::vector<Pages> relaxed = run(false);
  const std::vector<Pages> strict = run(true);
  ASSERT_EQ(relaxed.size(), strict.size());
  // The first pool's pages went back to the arena, so compare by identity under renaming: the page
  // first seen as the k-th is the k-th everywhere.
  const auto renamed = [](const std::vector<Pages>& takes) {
    std::vector<void*> known;
    std::vector<std::vector<std::size_t>> numbers;
    for (const Pages& pages : takes) {
      auto& row = numbers.emplace_back();
      for (void* page : pages) {
        auto at = std::find(known.begin(), known.end(), page);
        if (at == known.end()) at = known.insert(known.end(), page);
        row.push_back(static_cast<std::size_t>(at - known.begin()));
      }
    }
    return numbers;
  };
  EXPECT_EQ(renamed(relaxed), renamed(strict));
}

}  // namespace
}  // namespace nearpool::test
