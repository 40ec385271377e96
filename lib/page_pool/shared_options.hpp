// SPDX-License-Identifier: BSD-3-Clause
// Options for programs that do not know of the pool: the environment variable PAGE_POOL,
//   PAGE_POOL=bulk=32,hardened,no-bulk-return,no-foreign-reject,numa-map=1:0;2:1
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "error.hpp"

namespace nearpool {

struct SharedOptions {
  uint32_t bulk = 32;  // returns a lcore gathers that takes nothing; 4 to 512, 0: none
  bool hardened = false;
  bool refuse_foreign = true;
  std::string numa_map;  // lcore:node,...; empty: the machine's own nodes

  // An empty text gives the defaults. -EINVAL: the sentence names the word and what is allowed.
  static Result<SharedOptions> parse(std::string_view text);
};

}  // namespace nearpool
