// SPDX-License-Identifier: BSD-3-Clause
// Secondary processes: they get the arenas of the primary, mapped at the same addresses.
//
// The EAL shares its own memory with them by itself. Arenas are the plugin's, so it hands their
// descriptors over, in a message of the EAL: all there are when a secondary starts, and each new
// one to every secondary there is. Nothing of this happens where the EAL does without secondary
// processes (--in-memory, --no-shconf, --no-huge).
#pragma once

#include "page_pool/queue_pool.hpp"

namespace nearpool::secondary {

// In the primary: answers from now on. In a secondary: asks, and ends the process with a sentence
// if the primary's page pools cannot be used here; else the ops get the place that they have there.
// `ops_index` is that of this process, `others` its number of other mempool drivers.
void start(int ops_index, int others);

// In a secondary: whether the pages of the pool are mapped here.
bool has_pages_of(const QueuePool& pool);

}  // namespace nearpool::secondary
