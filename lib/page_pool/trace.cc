// SPDX-License-Identifier: BSD-3-Clause
#define ALLOW_EXPERIMENTAL_API
// Where a header of the EAL came before, as in ThreadSanitizer builds, that is too late.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "page_pool/trace.hpp"

#include "page_pool/trace_points.h"

namespace nearpool::trace {

void state_hold(uint32_t pool, const char* name, uint32_t pages, int nid, uint32_t owned) {
  page_pool_trace_state_hold(pool, name, pages, nid, owned);
}

void state_release(uint32_t pool, const char* name, uint32_t pages, uint32_t owned) {
  page_pool_trace_state_release(pool, name, pages, owned);
}

void update_nid(uint32_t pool, const char* name, int old_nid, int new_nid) {
  page_pool_trace_update_nid(pool, name, old_nid, new_nid);
}

void release(uint32_t pool, const char* name, int64_t inflight, uint64_t hold, uint64_t released) {
  page_pool_trace_release(pool, name, inflight, hold, released);
}

void foreign_reject(uint32_t pool, const char* name, uint32_t pages, int nid) {
  page_pool_trace_foreign_reject(pool, name, pages, nid);
}

void pressure_reject(uint32_t pool, const char* name, uint32_t pages, int nid) {
  page_pool_trace_pressure_reject(pool, name, pages, nid);
}

void stall(uint32_t pool, const char* name, int64_t inflight, uint64_t seconds) {
  page_pool_trace_stall(pool, name, inflight, seconds);
}

}  // namespace nearpool::trace
