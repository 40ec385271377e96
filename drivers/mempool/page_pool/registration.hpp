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
// From a constructor. `ready` is called when the ops are registered, or could not be (index < 0).
using OpsReady = void (*)(int index);
void register_after_all_drivers(const rte_mempool_ops& ops, OpsReady ready);

}  // namespace nearpool
