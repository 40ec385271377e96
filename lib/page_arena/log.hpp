// SPDX-License-Identifier: BSD-3-Clause
// One log type for the pool and its arena: --log-level=page_pool:debug.
#pragma once

#include <rte_log.h>

namespace nearpool {

// The log type, registered when the library is loaded.
int log_type();

}  // namespace nearpool

#define NEARPOOL_LOG(level, format, ...)           \
  rte_log(RTE_LOG_##level, ::nearpool::log_type(), \
          "page_pool: " format "\n" __VA_OPT__(, ) __VA_ARGS__)
