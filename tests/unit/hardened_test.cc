// SPDX-License-Identifier: BSD-3-Clause
// Misuse: what hardened mode reports and does not take in, and what other pools make of the same.
#include <set>
#include <string>
#include <thread>

#include "log_capture.hpp"
#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class HardenedTest : public PoolTest {
 protected:
  page_pool* make(const char* name = "hard", uint32_t flags = PAGE_POOL_F_HARDENED) {
    if (arena_ == nullptr) make_arena();
    page_pool_params params = defaults(arena_, name);
    params.flags = flags;
    return make_pool(params);
  }
  static void put_one(page_pool* pool, void* page) {
    rte_mempool_put_bulk(page_pool_mempool(pool), &page, 1);
  }
  // The log names pool, page and lcore.
  static void expect_named(const LogCapture& log, const std::string& pool, const void* page,
                           const std::string& lcore, const std::string& what) {
    EXPECT_NE(log.text().find("pool " + pool + ":"), std::string::npos) << log.text();
    EXPECT_NE(log.text().find(address_text(page)), std::string::npos) << log.text();
    EXPECT_NE(log.text().find("lcore " + lcore), std::string::npos) << log.text();
    EXPECT_NE(log.text().find(what), std::string::npos) << log.text();
  }
};

TEST_F(HardenedTest, NothingPassesInline) {
  page_pool* pool = make();
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const LogCapture log;
  const Pages pages = take(pool, 10);
  put(pool, pages, 1);
  EXPECT_EQ(stats(pool).cached, 0u);
  EXPECT_EQ(stats(pool).returns_single, 10u);
  EXPECT_TRUE(stats(pool).strict);
  EXPECT_EQ(stats(pool).misuse, 0u);
  EXPECT_EQ(log.text(), "");
  expect_books({{pool, 0}});
  page_pool_release(pool);
}

TEST_F(HardenedTest, DoubleReturnByTheConsumer) {
  page_pool* pool = make();
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kNear);
  const Pages pages = take(pool, 3);
  const LogCapture log;
  put_one(pool, pages[1]);
  put_one(pool, pages[1]);
  expect_named(log, "hard", pages[1], "1", "returned twice");
  EXPECT_EQ(stats(pool).misuse, 1u);
  expect_books({{pool, 2}});
  // Twice in one call, too.
  put(pool, {pages[0], pages[2], pages[0]});
  EXPECT_EQ(stats(pool).misuse, 2u);
  expect_books({{pool, 0}});
  const Pages again = take(pool, 4);
  EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), 4u) << "no page is there twice";
  put(pool, again);
  page_pool_release(pool);
}

TEST_F(HardenedTest, DoubleReturnByAnotherLcoreAndByAnUnregisteredThread) {
  page_pool* pool = make();
  const Pages pages = take(pool, 2);
  {
    const AsLcore other(kOther);
    const LogCapture log;
    put(pool, {pages[0], pages[0]});
    expect_named(log, "hard", pages[0], "2", "returned twice");
    expect_books({{pool, 1}});
  }
  const LogCapture log;
  std::thread([&] { put(pool, {pages[1], pages[1], pages[0]}, 1); }).join();
  expect_named(log, "hard", pages[1], "-1", "returned twice");
  EXPECT_EQ(stats(pool).misuse, 3u);
  expect_books({{pool, 0}});
}

TEST_F(HardenedTest, DoubleReturnAcrossPools) {
  page_pool* first = make("first");
  page_pool* second = make("second");
  const Pages pages = take(first, 1);
  put_one(first, pages[0]);
  const LogCapture log;
  // To the other pool: sent on to the first, which knows that it is not out.
  put_one(second, pages[0]);
  expect_named(log, "first", pages[0], "0", "returned twice");
  EXPECT_EQ(stats(second).misrouted, 1u);
  EXPECT_EQ(stats(first).misuse, 1u);
  expect_books({{first, 0}, {second, 0}});
}

TEST_F(HardenedTest, DoubleReturnOfAPageWhosePoolIsGone) {
  page_pool* first = make("first");
  page_pool* second = make("second");
  const Pages pages = take(first, 1);
  put_one(first, pages[0]);
  destroy(first);
  const LogCapture log;
  put_one(second, pages[0]);
  expect_named(log, "second", pages[0], "0", "no page of its arena nor of another pool");
  EXPECT_EQ(stats(second).misuse, 1u);
  expect_books({{second, 0}});
}

TEST_F(HardenedTest, APointerThatIsNoPage) {
  page_pool* pool = make();
  const Pages pages = take(pool, 1);
  int somewhere = 0;
  auto* middle = static_cast<char*>(pages[0]) + 8;
  auto* body = static_cast<char*>(pages[0]) + 1024;
  unsigned reports = 0;
  for (void* wrong : {static_cast<void*>(nullptr), static_cast<void*>(&somewhere),
                      static_cast<void*>(middle), static_cast<void*>(body)}) {
    const LogCapture log;
    put_one(pool, wrong);
    expect_named(log, "hard", wrong, "0", "is no page");
    EXPECT_EQ(stats(pool).misuse, ++reports);
    expect_books({{pool, 1}});
  }
  put(pool, pages);
  expect_books({{pool, 0}});
}

TEST_F(HardenedTest, AMisroutedPageIsSentOn) {
  page_pool* first = make("first");
  page_pool* second = make("second");
  Pages mixed = take(first, 40);
  const Pages others = take(second, 40);
  mixed.insert(mixed.end(), others.begin(), others.end());
  const LogCapture log;
  // As MBUF_FAST_FREE does with a burst of several pools.
  const AsLcore transmitter(kOther);
  put(first, mixed, 80);
  EXPECT_EQ(stats(first).misrouted, 40u);
  EXPECT_EQ(stats(first).misuse + stats(second).misuse, 0u);
  expect_named(log, "first", others[0], "2", "page " + address_text(others[0]) + " of pool second");
  EXPECT_LT(log.count("is sent on"), 16u) << "said at a bounded rate";
  expect_books({{first, 0}, {second, 0}});
  EXPECT_EQ(stats(second).owned, 40u);
}

TEST_F(HardenedTest, APageOthersReferToIsNotTakenIn) {
  page_pool* pool = make();
  const Pages pages = take(pool, 2);
  auto* shared = static_cast<rte_mbuf*>(pages[0]);
  rte_mbuf_refcnt_set(shared, 2);
  {
    const LogCapture log;
    put(pool, pages);
    expect_named(log, "hard", pages[0], "0", "still referred to by somebody else");
  }
  EXPECT_EQ(stats(pool).misuse, 1u);
  expect_books({{pool, 1}});
  // The ordinary way: the first free only drops a reference, the second returns the page.
  rte_pktmbuf_free(shared);
  expect_books({{pool, 1}});
  rte_pktmbuf_free(shared);
  EXPECT_EQ(stats(pool).misuse, 1u);
  expect_books({{pool, 0}});
}

TEST_F(HardenedTest, TwoConsumers) {
  page_pool* pool = make();
  const LogCapture log;
  {
    const AsLcore first(kConsumer);
    page_pool_nid_changed(pool, kNear);
  }
  {
    const AsLcore second(kOther);
    page_pool_nid_changed(pool, kNear);
  }
  EXPECT_EQ(log.count("pool hard: lcore 2 polls while lcore 1 has not left the queue"), 1u)
      << log.text();
  EXPECT_EQ(stats(pool).misuse, 1u);
  {
    const AsLcore first(kConsumer);
    page_pool_nid_changed(pool, kNear);
    page_pool_release(pool);
  }
  EXPECT_EQ(stats(pool).misuse, 2u);
  const AsLcore second(kOther);
  page_pool_nid_changed(pool, kNear);
  EXPECT_EQ(stats(pool).misuse, 2u) << "the queue was free";
  page_pool_release(pool);
}

TEST_F(HardenedTest, TakesBesideTheConsumerAreNoMisuse) {
  page_pool* pool = make();
  {
    const AsLcore consumer(kConsumer);
    page_pool_nid_changed(pool, kNear);
  }
  Pages pages;
  {
    const AsLcore other(kOther);
    pages = take(pool, 8);
  }
  const AsLcore consumer(kConsumer);
  put(pool, pages);
  EXPECT_EQ(stats(pool).misuse, 0u);
  page_pool_release(pool);
}

TEST_F(HardenedTest, ReportsComeAtABoundedRate) {
  page_pool* pool = make();
  const LogCapture log;
  for (int i = 0; i < 1000; ++i)
    put_one(pool, &pool);
  EXPECT_EQ(stats(pool).misuse, 1000u);
  EXPECT_LE(log.count("is no page"), 8u + 7u);
  EXPECT_GE(log.count("is no page"), 8u);
  expect_books({{pool, 0}});
}

// ---- pools that are not hardened: their data path does not look, their way home does

TEST_F(HardenedTest, WithoutItAMisroutedPageGoesBackWhenItWouldGoHome) {
  page_pool* first = make("first", 0);
  page_pool* second = make("second", 0);
  const Pages others = take(second, 20);
  const LogCapture log;
  put(first, others, 20);
  EXPECT_EQ(stats(first).inflight, -20);
  EXPECT_EQ(stats(second).inflight, 20);
  destroy(first);
  EXPECT_EQ(log.count("of pool second was returned here"), 9u) << log.text();
  page_pool_flush_returns(second);
  expect_books({{second, 0}});
  EXPECT_EQ(stats(second).owned, 20u) << "nothing came off the wrong books";
}

TEST_F(HardenedTest, WithoutItStrictModeReportsWhatIsNoPage) {
  page_pool* pool = make("soft", 0);
  const Pages near = take(pool, 1);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(pool, kFar);
  ASSERT_TRUE(stats(pool).strict);
  const LogCapture log;
  int somewhere = 0;
  put(pool, {&somewhere, near[0], nullptr});
  EXPECT_EQ(stats(pool).misuse, 2u);
  expect_named(log, "soft", &somewhere, "1", "is no page");
  expect_books({{pool, 0}});
  EXPECT_FALSE(stats(pool).strict);
  page_pool_release(pool);
}

TEST_F(HardenedTest, WithoutItStrictModeSendsForeignPagesOfAnotherPoolOn) {
  page_pool* first = make("first", 0);
  page_pool* second = make("second", 0);
  const Pages own = take(first, 1);
  const Pages others = take(second, 2);
  const AsLcore consumer(kConsumer);
  page_pool_nid_changed(first, kFar);
  const LogCapture log;
  put(first, {others[0], own[0], others[1]});
  EXPECT_EQ(stats(first).misrouted, 2u);
  expect_named(log, "first", others[0], "1", "of pool second");
  page_pool_flush_returns(second);
  expect_books({{first, 0}, {second, 0}});
  EXPECT_EQ(stats(first).owned, 0u);
  page_pool_release(first);
}

}  // namespace
}  // namespace nearpool::test
