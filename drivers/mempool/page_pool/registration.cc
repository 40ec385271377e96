// SPDX-License-Identifier: BSD-3-Clause
#include "registration.hpp"

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_mempool.h>

#include <cstdio>
#include <cstring>

#include "page_arena/log.hpp"

namespace nearpool {

namespace {

// Constructors of this library run before dynamic initialisation may have.
constinit const rte_mempool_ops* waiting = nullptr;
constinit OpsReady when_ready = nullptr;

bool is_registered(const char* name) {
  for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    if (std::strcmp(rte_mempool_ops_table.ops[i].name, name) == 0) return true;
  }
  return false;
}

void register_now() {
  if (waiting == nullptr) return;
  // A copy given with -d and another one where the EAL looks by itself.
  if (is_registered(waiting->name)) {
    std::fprintf(stderr, "page_pool: the plugin is loaded twice; the copy loaded first serves\n");
    waiting = nullptr;
    return;
  }
  const int index = rte_mempool_register_ops(waiting);
  if (index < 0) {
    NEARPOOL_LOG(ERR,
                 "the mempool ops '%s' are not registered: the table of %d is full; keep drivers "
                 "that this machine has no device for out of the EAL's driver directory",
                 waiting->name, RTE_MEMPOOL_MAX_OPS_IDX);
  }
  waiting = nullptr;
  when_ready(index);
}

// At each scan, hot-plugging included.
void at_scan(void* /*unused*/) {
  register_now();
}

// The EAL finds it out on its way up, and not before.
bool eal_is_up() {
  return rte_get_tsc_hz() != 0;
}

}  // namespace

void register_after_all_drivers(const rte_mempool_ops& ops, OpsReady ready) {
  waiting = &ops;
  when_ready = ready;
  if (eal_is_up()) {
    register_now();
  } else if (rte_vdev_add_custom_scan(at_scan, nullptr) != 0) {
    // The EAL's log is not there yet.
    std::fprintf(stderr, "page_pool: out of memory; the mempool ops '%s' are not registered\n",
                 ops.name);
  }
}

}  // namespace nearpool
