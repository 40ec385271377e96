// SPDX-License-Identifier: BSD-3-Clause
// When the mempool ops are registered, so that they have the same index in every process.
#pragma once

struct rte_mempool_ops;

namespace nearpool {

// A mempool in shared memory names its ops by an index into a table that each process fills for
// itself, in the order in which its drivers happen to be loaded. So the ops are registered after
// all other drivers: then their index is the number of those, whatever their order, and no other
// driver's index depends on whether this one is there. The hook for that is the scan of the vdev
// bus, the first thing the EAL does when all drivers are loaded.
//
// A secondary process without the plugin would find nothing at that index, and DPDK does not check
// it: dpdk-proc-info --show-mempool calls a null pointer, and ends holding a lock that the primary
// needs for good. So in a primary process the ops then change places with those of a ring that
// hardly anybody uses (kStandIn), which go to the end of the table and are found there by their
// name. To a process without the plugin page pools are such rings, empty and full at once
// (PoolData). A secondary process with the plugin learns the place from the primary (secondary.cc).
inline constexpr char kStandIn[] = "ring_mt_rts";

// From a constructor. `ready` is called when the ops are registered, or could not be (index < 0),
// with the number of the other drivers too.
using OpsReady = void (*)(int index, int others);
void register_after_all_drivers(const rte_mempool_ops& ops, OpsReady ready);

// Lets two drivers change places in this process's table. No mempool of either may be in use.
void exchange_places(int one, int other);

}  // namespace nearpool
