// SPDX-License-Identifier: BSD-3-Clause
// Every call by which the pool and its arena get memory or pages, wrapped at link time
// (-Wl,--wrap=...), so that a test can make the k-th of them fail. One thread.
#pragma once

#include <cstdint>

namespace nearpool::test {

enum class Failing {
  kNone,
  kOnce,    // the k-th call from now, 1 for the next
  kFrom,    // the k-th and all after it
  kEvery,   // each k-th
  kPercent  // k of 100, by a fixed sequence
};

// Calls of creation: rte_malloc and its kin, rte_mempool_create_empty(), set_ops, populate.
void fail_creation(Failing how, unsigned k = 0);
// Takes of pools from their arena.
void fail_takes(Failing how, unsigned k = 0);

struct FailureCount {
  unsigned calls = 0;   // since fail_...()
  unsigned failed = 0;  // of these
};
FailureCount creation_calls();
FailureCount take_calls();

}  // namespace nearpool::test
