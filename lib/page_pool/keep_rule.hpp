// SPDX-License-Identifier: BSD-3-Clause
// The keep rule: which pages a pool keeps when they come back. It is decided by a page's address
// and never by its contents.
//
// A page is kept only if
//   1. its node is the pool's nid,
//   2. it was not taken under pressure,
//   3. nobody else refers to it. DPDK returns a page only then; hardened mode checks it.
// Which test turns red without a clause is noted in tests/unit/keep_rule_test.cc.
#pragma once

#include <cstdint>

#include "page_arena/page_arena.hpp"

namespace nearpool {

enum class Verdict : uint8_t { kKeep, kForeign, kUnderPressure };

struct KeepRule {
  const PageArena* arena;
  AddressRange local;    // range of the nid; empty if it needs a look-up
  uint32_t nid;          // index of the node
  bool refuse_foreign;   // clause 1 applies
  bool refuse_pressure;  // clause 2 applies, and there are such pages

  // Whether all n pages are surely kept; touches no memory of the pages.
  bool keeps_all(void* const* pages, unsigned n) const {
    return !refuse_pressure && (!refuse_foreign || local.holds_all(pages, n));
  }

  Verdict operator()(const void* page) const {
    if (refuse_foreign && !local.holds(page) && arena->node_of(page) != nid) {
      return Verdict::kForeign;
    }
    if (refuse_pressure && arena->is_pressure(page)) return Verdict::kUnderPressure;
    return Verdict::kKeep;
  }
};

}  // namespace nearpool
