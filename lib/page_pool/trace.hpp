// SPDX-License-Identifier: BSD-3-Clause
// Trace points (rte_trace): those of the kernel's page pool, and three more. All are on slow paths,
// where the arena, another node or the end of a pool is at hand. One that is off costs a call, a
// load and a branch there, and nothing anywhere else.
//
// In a trace they are page_pool.NAME. `pool` is a pool's id, `name` its name, nodes are node ids.
// Any thread.
#pragma once

#include <cstdint>

namespace nearpool::trace {

// Pages came from the arena; `owned` counts them.
void state_hold(uint32_t pool, const char* name, uint32_t pages, int nid, uint32_t owned);
// Pages are back in the arena; `owned` counts them no more.
void state_release(uint32_t pool, const char* name, uint32_t pages, uint32_t owned);
// The pool of a queue, or a lcore's part of a shared pool, allocates from another node now.
void update_nid(uint32_t pool, const char* name, int old_nid, int new_nid);
// A pool that ends is looked at: what it had taken and what has come home, ever.
void release(uint32_t pool, const char* name, int64_t inflight, uint64_t hold, uint64_t released);
// Returned pages are not kept since they are on another node, or were taken under pressure.
void foreign_reject(uint32_t pool, const char* name, uint32_t pages, int nid);
void pressure_reject(uint32_t pool, const char* name, uint32_t pages, int nid);
// A pool that ends has waited so long for its pages.
void stall(uint32_t pool, const char* name, int64_t inflight, uint64_t seconds);

}  // namespace nearpool::trace
