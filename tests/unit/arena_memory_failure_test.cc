// SPDX-License-Identifier: BSD-3-Clause
// What cannot be had: an error that says so, and everything is given back, after a failure of each
// step.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "arena_memory_fixture.hpp"
#include "fake_sysfs.hpp"
#include "page_arena/arena_memory.hpp"

namespace nearpool {
namespace {

using namespace test;
using numa::Topology;

struct StepCase {
  MemoryStep step;
  unsigned times;  // that the step is taken for two_node_request()
  const char* sentence;
};

const std::vector<StepCase>& steps() {
  static const std::vector<StepCase> cases = {
      {MemoryStep::kReserve, 1, "of addresses (Input/output error): raise the limit of addresses"},
      {MemoryStep::kMemfd, 1, "got no memory file (Input/output error): raise the limit of open"},
      {MemoryStep::kTruncate, 1, "got no memory file of "},
      {MemoryStep::kSeal, 1, "could not seal its memory file (Input/output error)"},
      {MemoryStep::kMap, 2, " for node "},
      {MemoryStep::kBind, 2, "could not bind memory to node "},
      {MemoryStep::kPopulate, 2, "the kernel ran out of pages"},
      {MemoryStep::kVerify, 2, "could not see on which node its pages lie"},
      {MemoryStep::kIova, 1, "could not find the IOVAs of its memory"},
  };
  return cases;
}

TEST_P(Pages, FailureOfAnyStepGivesEverythingBack) {
  for (const StepCase& failing : steps()) {
    const int step = static_cast<int>(failing.step);
    for (unsigned nth = 1; nth <= failing.times + 1; ++nth) {
      const Leftovers before = leftovers();
      arena_memory_fail_at(failing.step, nth);
      {
        const auto memory = ArenaMemory::map(two_node_request(), two_nodes());
        ASSERT_EQ(arena_memory_failed(), nth <= failing.times) << step << " " << nth;
        ASSERT_EQ(memory.has_value(), nth > failing.times) << step << " " << nth;
        if (!memory) {
          EXPECT_EQ(memory.error().code, -EIO) << step;
          EXPECT_EQ(memory.error().message.find("arena 'unit' "), 0U) << memory.error().message;
          EXPECT_NE(memory.error().message.find(failing.sentence), std::string::npos)
              << memory.error().message;
        }
      }
      EXPECT_EQ(leftovers(), before) << step << " " << nth;
    }
  }
}

// The machine's own count. Other processes take and give hugepages too, so a difference is only
// believed when it is there each time.
TEST_P(Pages, FailureOfAnyStepLeavesTheMachinesHugepagesFree) {
  constexpr int kAttempts = 20;
  for (const StepCase& failing : steps()) {
    bool as_before = false;
    for (int attempt = 0; attempt < kAttempts && !as_before; ++attempt) {
      const std::size_t before = test::free_hugepages();
      arena_memory_fail_at(failing.step, failing.times);
      EXPECT_FALSE(ArenaMemory::map(two_node_request(), two_nodes()));
      as_before = test::free_hugepages() == before;
    }
    EXPECT_TRUE(as_before) << static_cast<int>(failing.step);
  }
}

TEST_P(Pages, PagesTakenMeanwhileAreOutOfMemory) {
  for (const int error_number : {EFAULT, ENOSPC, ENOMEM}) {
    const Leftovers before = leftovers();
    arena_memory_fail_at(MemoryStep::kPopulate, 2, error_number);
    const auto memory = ArenaMemory::map(two_node_request(), two_nodes());
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code, -ENOMEM);
    EXPECT_NE(memory.error().message.find("are free there now"), std::string::npos);
    EXPECT_EQ(leftovers(), before);
  }
}

TEST_P(Pages, WithoutNumaCallsOneNodeStillWorks) {
  for (const MemoryStep step : {MemoryStep::kBind, MemoryStep::kVerify}) {
    for (const int error_number : {ENOSYS, EPERM}) {
      arena_memory_fail_at(step, 1, error_number);
      EXPECT_TRUE(ArenaMemory::map(request({{0, 1}}), Topology::one_node()));
      EXPECT_TRUE(arena_memory_failed());
    }
  }
}

TEST_P(Pages, WithoutNumaCallsSeveralNodesNeedLenience) {
  // Node 8 is said to be on another machine node, so the calls would matter.
  const Topology topology = std::move(*Topology::synthetic(
      {{.id = 0, .real_node = first_node()}, {.id = 8, .real_node = first_node() + 1}}));
  MemoryRequest one_page = request({{0, 1}});
  for (const MemoryStep step : {MemoryStep::kBind, MemoryStep::kVerify}) {
    const Leftovers before = leftovers();
    arena_memory_fail_at(step, 1, EPERM);
    const auto refused = ArenaMemory::map(one_page, topology);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, -EPERM);
    EXPECT_NE(refused.error().message.find("in a container allow the call"), std::string::npos);
    EXPECT_EQ(leftovers(), before);

    MemoryRequest lenient = one_page;
    lenient.strict = false;
    arena_memory_fail_at(step, 1, EPERM);
    EXPECT_TRUE(ArenaMemory::map(lenient, topology));
    EXPECT_TRUE(arena_memory_failed());
  }
}

TEST_P(Pages, FileSizeLimitIsAnErrorAndNoSignal) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 1;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto memory = ArenaMemory::map(request({{first_node(), 1}}), machine());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, -EFBIG);
  EXPECT_NE(memory.error().message.find("ulimit -f"), std::string::npos);
}

TEST_P(Pages, DescriptorLimitIsNamed) {
  arena_memory_fail_at(MemoryStep::kMemfd, 1, EMFILE);
  const auto memory = ArenaMemory::map(request({{first_node(), 1}}), machine());
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, -EMFILE);
  EXPECT_EQ(memory.error().message,
            "arena 'unit' got no memory file (Too many open files): raise the limit of open files "
            "(ulimit -n), and if it asks for hugepages, check that the kernel has those of this "
            "size");
}

TEST_P(Pages, TooLargeIsRefusedWithNumbers) {
  const Leftovers before = leftovers();
  const auto memory = ArenaMemory::map(request({{first_node(), std::size_t{1} << 44}}), machine());
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, -ENOMEM);
  EXPECT_NE(memory.error().message.find("wants 16384 GiB of "), std::string::npos);
  EXPECT_NE(memory.error().message.find("the largest that fits is "), std::string::npos);
  EXPECT_EQ(leftovers(), before);
}

// Another process may take hugepages between the look at sysfs and the mapping.
TEST(HugepageRace, PagesPromisedElsewhereAreAnError) {
  NEARPOOL_NEED_HUGEPAGES(1U);
  test::FakeSysfs tree;
  const std::size_t too_many = test::free_hugepages() + 100000;
  tree.node(first_node(), 1 << 20, {0}, "10").hugepages(first_node(), 2048, too_many, too_many);
  const Topology topology = std::move(*Topology::discover(tree.root()));
  const Leftovers before = leftovers();
  const auto memory =
      ArenaMemory::map({.name = "unit", .nodes = {{first_node(), too_many * kHugepage}}}, topology);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, -ENOMEM);
  EXPECT_NE(memory.error().message.find("promised to other processes"), std::string::npos)
      << memory.error().message;
  EXPECT_EQ(leftovers(), before);
}

INSTANTIATE_TEST_SUITE_P(Memory, Pages, testing::Bool(), kind);

}  // namespace
}  // namespace nearpool
