// SPDX-License-Identifier: BSD-3-Clause
// What a mempool's pool_data points to: one of the two kinds of pool.
#pragma once

#include <rte_mempool.h>
#include <rte_ring.h>

#include <cstddef>
#include <cstdint>

namespace nearpool {

enum class PoolKind : uint32_t {
  kQueue = 0x50505131,   // page_pool_create(): one RX queue, pages borrowed from an arena
  kShared = 0x50505331,  // a program's own mempool: many lcores, pages of its own
};

// Pools of both kinds are numbered together. Control thread.
inline uint32_t next_pool_id = 1;

struct PoolData {
  explicit PoolData(PoolKind k) : kind(k), id(next_pool_id++) {}
  // What a process without this plugin takes the pool for, which calls the ring driver instead (see
  // registration.hpp): a ring with no room, from which nothing comes and into which nothing goes.
  // Its place is the beginning.
  rte_ring disguise{};
  PoolKind kind;
  uint32_t id;  // unique in the process
};

static_assert(offsetof(PoolData, disguise) == 0);

// Name of the mempool ops. A benchmark builds a second copy without the keep rule.
#ifdef NEARPOOL_NO_KEEP_RULE
inline constexpr char kOpsName[] = "page_pool_norule";
inline constexpr bool kKeepRuleBuiltIn = false;
#else
inline constexpr char kOpsName[] = "page_pool";
inline constexpr bool kKeepRuleBuiltIn = true;
#endif

}  // namespace nearpool
