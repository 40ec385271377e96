// SPDX-License-Identifier: BSD-3-Clause
// The control thread that looks after shared pools on machines with several nodes.
#pragma once

#include "page_pool/shared_pool.hpp"

namespace nearpool::shared_watcher {

// Control path. The first pool with several nodes starts the thread, the last one's end stops it.
void add(SharedPool* pool);
void remove(SharedPool* pool);

}  // namespace nearpool::shared_watcher
