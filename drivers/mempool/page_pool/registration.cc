// SPDX-License-Identifier: BSD-3-Clause
#include "registration.hpp"

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "page_arena/log.hpp"
#include "page_pool/pool_data.hpp"

namespace nearpool {

namespace {

// Constructors of this library run before dynamic initialisation may have.
constinit const rte_mempool_ops* waiting = nullptr;
constinit OpsReady when_ready = nullptr;

// -1: there is none.
int index_of(const char* name) {
  for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    if (std::strcmp(rte_mempool_ops_table.ops[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

// On the EAL's way up, when there is no mempool yet.
int take_place(int index) {
  const int place = index_of(kStandIn);
  if (!kKeepRuleBuiltIn || place < 0 || rte_eal_process_type() != RTE_PROC_PRIMARY) return index;
  exchange_places(index, place);
  return place;
}

void register_now(bool early) {
  if (waiting == nullptr) return;
  // A copy given with -d and another one where the EAL looks by itself.
  if (index_of(waiting->name) >= 0) {
    std::fprintf(stderr, "page_pool: the plugin is loaded twice; the copy loaded first serves\n");
    waiting = nullptr;
    return;
  }
  const int others = rte_mempool_register_ops(waiting);
  int index = others;
  if (index < 0) {
    NEARPOOL_LOG(ERR,
                 "the mempool ops '%s' are not registered: the table of %d is full; keep drivers "
                 "that this machine has no device for out of the EAL's driver directory",
                 waiting->name, RTE_MEMPOOL_MAX_OPS_IDX);
  } else if (early) {
    index = take_place(others);
  }
  waiting = nullptr;
  when_ready(index, others);
}

// At each scan, hot-plugging included.
void at_scan(void* /*unused*/) {
  register_now(true);
}

// The EAL finds it out on its way up, and not before.
bool eal_is_up() {
  return rte_get_tsc_hz() != 0;
}

}  // namespace

void exchange_places(int one, int other) {
  rte_spinlock_lock(&rte_mempool_ops_table.sl);
  std::swap(rte_mempool_ops_table.ops[one], rte_mempool_ops_table.ops[other]);
  rte_spinlock_unlock(&rte_mempool_ops_table.sl);
}

void register_after_all_drivers(const rte_mempool_ops& ops, OpsReady ready) {
  waiting = &ops;
  when_ready = ready;
  if (eal_is_up()) {
    register_now(false);
  } else if (rte_vdev_add_custom_scan(at_scan, nullptr) != 0) {
    // The EAL's log is not there yet.
    std::fprintf(stderr, "page_pool: out of memory; the mempool ops '%s' are not registered\n",
                 ops.name);
  }
}

}  // namespace nearpool
