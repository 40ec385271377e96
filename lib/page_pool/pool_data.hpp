// SPDX-License-Identifier: BSD-3-Clause
// What a mempool's pool_data points to: one of the two kinds of pool.
#pragma once

#include <rte_mempool.h>

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
  PoolKind kind;
  uint32_t id;  // unique in the process
};

// Name of the mempool ops. A benchmark builds a second copy without the keep rule.
#ifdef NEARPOOL_NO_KEEP_RULE
inline constexpr char kOpsName[] = "page_pool_norule";
inline constexpr bool kKeepRuleBuiltIn = false;
#else
inline constexpr char kOpsName[] = "page_pool";
inline constexpr bool kKeepRuleBuiltIn = true;
#endif

}  // namespace nearpool
