// SPDX-License-Identifier: BSD-3-Clause
// Makes the trace points known to the EAL, which writes what fields they have into each trace.
// rte_trace is experimental in 22.11; in this file and trace.cc alone we say that we know.
#define ALLOW_EXPERIMENTAL_API
// Where a header of the EAL came before, as in ThreadSanitizer builds, that is too late.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <rte_trace_point_register.h>

#include "page_pool/pool_data.hpp"
#include "page_pool/trace_points.h"

// Not by RTE_TRACE_POINT_REGISTER: the EAL does not start if a name is registered twice, which it
// would be if a second copy of the plugin is loaded.
#define NEARPOOL_DEFINE(point) \
  rte_trace_point_t __attribute__((section("__rte_trace_point"))) __##point

extern "C" {
NEARPOOL_DEFINE(page_pool_trace_state_hold);
NEARPOOL_DEFINE(page_pool_trace_state_release);
NEARPOOL_DEFINE(page_pool_trace_update_nid);
NEARPOOL_DEFINE(page_pool_trace_release);
NEARPOOL_DEFINE(page_pool_trace_foreign_reject);
NEARPOOL_DEFINE(page_pool_trace_pressure_reject);
NEARPOOL_DEFINE(page_pool_trace_stall);
}

namespace {

template <typename Function>
void register_point(rte_trace_point_t* point, const char* name, Function* describe) {
  if (!nearpool::kKeepRuleBuiltIn || rte_trace_point_lookup(name) != nullptr) return;
  __rte_trace_point_register(point, name, reinterpret_cast<void (*)()>(describe));
}

RTE_INIT(register_trace_points) {
#define NEARPOOL_REGISTER(point) \
  register_point(&__page_pool_trace_##point, "page_pool." #point, page_pool_trace_##point)
  NEARPOOL_REGISTER(state_hold);
  NEARPOOL_REGISTER(state_release);
  NEARPOOL_REGISTER(update_nid);
  NEARPOOL_REGISTER(release);
  NEARPOOL_REGISTER(foreign_reject);
  NEARPOOL_REGISTER(pressure_reject);
  NEARPOOL_REGISTER(stall);
}

}  // namespace
