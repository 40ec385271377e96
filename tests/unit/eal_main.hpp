// SPDX-License-Identifier: BSD-3-Clause
// A GoogleTest main that brings the EAL up first: eal_main.cc.
//
// Lcores 0 to 7 float over CPUs 0 and 1 (over CPU 0 alone on a one-CPU machine). With hugepages:
// --in-memory -m 64. Without any, or with NEARPOOL_TEST_NO_HUGE=1: --no-huge. Further EAL
// arguments, such as --iova-mode=pa or --telemetry, come from NEARPOOL_TEST_EAL_ARGS, separated by
// blanks.
#pragma once

#include <cstddef>

namespace nearpool::test {

// Whether the EAL runs on hugepages.
bool have_hugepages();

// Free hugepages of 2 MiB on the whole machine, from sysfs.
std::size_t free_hugepages();

}  // namespace nearpool::test

// At the top of a test that cannot do without: skips it with a reason.
#define NEARPOOL_NEED_HUGEPAGES(pages)                                                       \
  do {                                                                                       \
    if (!nearpool::test::have_hugepages()) GTEST_SKIP() << "the EAL runs without hugepages"; \
    if (nearpool::test::free_hugepages() < (pages))                                          \
      GTEST_SKIP() << "fewer than " << (pages) << " hugepages of 2 MiB are free";            \
  } while (false)
