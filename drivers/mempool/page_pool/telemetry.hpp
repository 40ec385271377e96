// SPDX-License-Identifier: BSD-3-Clause
// Telemetry commands of rte_telemetry: /page_pool/... and /page_arena/...
//
// They run on threads of the telemetry library, beside everything else. The lists of pools and
// arenas are locked while an answer is put together, so that nothing in it goes meanwhile; what is
// read of a pool is what any thread may read.
#pragma once

namespace nearpool::telemetry {

// Once. Where the program has no telemetry nobody asks.
void start();

}  // namespace nearpool::telemetry
