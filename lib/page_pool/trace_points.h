/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace points and their fields, as the EAL's macros want them. Included by trace_register.cc,
 * where the macros describe the fields, and by trace.cc, where they record them.
 */
#ifndef NEARPOOL_TRACE_POINTS_H_
#define NEARPOOL_TRACE_POINTS_H_

#include <rte_trace_point.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

RTE_TRACE_POINT(page_pool_trace_state_hold,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, uint32_t pages, int nid,
                                     uint32_t owned),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_u32(pages);
                rte_trace_point_emit_int(nid); rte_trace_point_emit_u32(owned);)

RTE_TRACE_POINT(page_pool_trace_state_release,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, uint32_t pages,
                                     uint32_t owned),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_u32(pages);
                rte_trace_point_emit_u32(owned);)

RTE_TRACE_POINT(page_pool_trace_update_nid,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, int old_nid, int new_nid),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_int(old_nid);
                rte_trace_point_emit_int(new_nid);)

RTE_TRACE_POINT(page_pool_trace_release,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, int64_t inflight,
                                     uint64_t hold, uint64_t released),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_i64(inflight);
                rte_trace_point_emit_u64(hold); rte_trace_point_emit_u64(released);)

RTE_TRACE_POINT(page_pool_trace_foreign_reject,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, uint32_t pages, int nid),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_u32(pages);
                rte_trace_point_emit_int(nid);)

RTE_TRACE_POINT(page_pool_trace_pressure_reject,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, uint32_t pages, int nid),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_u32(pages);
                rte_trace_point_emit_int(nid);)

RTE_TRACE_POINT(page_pool_trace_stall,
                RTE_TRACE_POINT_ARGS(uint32_t pool, const char* name, int64_t inflight,
                                     uint64_t seconds),
                rte_trace_point_emit_u32(pool);
                rte_trace_point_emit_string(name); rte_trace_point_emit_i64(inflight);
                rte_trace_point_emit_u64(seconds);)

#ifdef __cplusplus
}
#endif

#endif /* NEARPOOL_TRACE_POINTS_H_ */
