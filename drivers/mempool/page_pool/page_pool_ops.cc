// SPDX-License-Identifier: BSD-3-Clause
// The mempool ops "page_pool": what rte_mempool calls when a cache does not serve.
//
// One name for both kinds of pool, since the ops table has 16 slots and DPDK's own drivers take 14
// of them. Which kind a mempool is, is decided by how it was made: page_pool_create() passes the
// pool as the ops' configuration; any other mempool is a program's own.
#include <rte_eal.h>
#include <rte_mempool.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "numa/current_node.hpp"
#include "page_arena/log.hpp"
#include "page_pool/queue_pool.hpp"
#include "page_pool/registry.hpp"
#include "page_pool/shared_options.hpp"
#include "page_pool/shared_pool.hpp"
#include "page_pool/shared_watcher.hpp"
#include "registration.hpp"
#include "secondary.hpp"
#include "telemetry.hpp"

namespace {

using nearpool::PoolData;
using nearpool::PoolKind;
using nearpool::QueuePool;
using nearpool::SharedPool;

PoolData* data_of(const rte_mempool* mempool) {
  return static_cast<PoolData*>(mempool->pool_data);
}
QueuePool* queue_pool(PoolData* data) {
  return static_cast<QueuePool*>(data);
}
SharedPool* shared_pool(PoolData* data) {
  return static_cast<SharedPool*>(data);
}

int alloc(rte_mempool* mempool) {
  if (mempool->pool_config != nullptr) {
    mempool->pool_data = mempool->pool_config;
    return 0;
  }
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    NEARPOOL_LOG(ERR,
                 "mempool %s: page pools are made in the primary process; choose other ops "
                 "for this one (--mbuf-pool-ops-name=ring_mp_mc)",
                 mempool->name);
    return -ENOTSUP;
  }
  const char* text = std::getenv("PAGE_POOL");
  auto options = nearpool::SharedOptions::parse(text == nullptr ? "" : text);
  if (!options) {
    NEARPOOL_LOG(ERR, "%s", options.error().message.c_str());
    return options.error().code;
  }
  if (!options->numa_map.empty() && !nearpool::numa::system_topology().emulated()) {
    auto topology = nearpool::numa::Topology::from_lcore_map(options->numa_map,
                                                             nearpool::numa::system_topology());
    auto used = topology ? nearpool::numa::use_topology(std::move(*topology))
                         : nearpool::Result<void>(tl::unexpected(topology.error()));
    if (!used) {
      NEARPOOL_LOG(ERR, "PAGE_POOL: numa-map: %s", used.error().message.c_str());
      return used.error().code;
    }
    NEARPOOL_LOG(NOTICE, "nodes are emulated: %s", options->numa_map.c_str());
  }
  auto pool = SharedPool::create(mempool, *options);
  if (!pool) {
    NEARPOOL_LOG(ERR, "%s", pool.error().message.c_str());
    return pool.error().code;
  }
  mempool->pool_data = static_cast<PoolData*>(*pool);
  nearpool::Registry::instance().add(*pool);
  if ((*pool)->has_several_nodes()) nearpool::shared_watcher::add(*pool);
  return 0;
}

// Also called when alloc never ran, and a second time if a program tears down twice.
void release(rte_mempool* mempool) {
  PoolData* data = data_of(mempool);
  mempool->pool_data = nullptr;
  if (data == nullptr) return;
  if (data->kind == PoolKind::kQueue) {
    // Other threads may be looking at it.
    const auto lock = nearpool::Registry::instance().hold();
    queue_pool(data)->lose_mempool();
    return;
  }
  SharedPool* pool = shared_pool(data);
  nearpool::Registry::instance().remove(pool);
  nearpool::shared_watcher::remove(pool);
  using nearpool::Counter;
  NEARPOOL_LOG(DEBUG,
               "mempool %s ends: %llu pages taken and %llu bulk, %llu single returns by driver "
               "calls; %llu foreign pages refused, %llu from other nodes, %llu moves of lcores",
               mempool->name, static_cast<unsigned long long>(pool->count(Counter::kAllocSlow)),
               static_cast<unsigned long long>(pool->count(Counter::kReturnsBulk)),
               static_cast<unsigned long long>(pool->count(Counter::kReturnsSingle)),
               static_cast<unsigned long long>(pool->count(Counter::kForeignRefused)),
               static_cast<unsigned long long>(pool->count(Counter::kAllocFallback)),
               static_cast<unsigned long long>(pool->count(Counter::kNidUpdates)));
  SharedPool::destroy(pool);
}

// Set before there is a mempool.
constinit bool in_secondary = false;

int enqueue(rte_mempool* mempool, void* const* pages, unsigned n) {
  PoolData* data = data_of(mempool);
  if (data->kind != PoolKind::kQueue) [[unlikely]] {
    shared_pool(data)->enqueue(pages, n);
  } else if (in_secondary) [[unlikely]] {
    queue_pool(data)->enqueue_as_guest(pages, n);
  } else {
    queue_pool(data)->enqueue(pages, n);
  }
  return 0;
}

int dequeue_in_secondary(rte_mempool* mempool, QueuePool* pool, void** pages, unsigned n) {
  if (nearpool::secondary::has_pages_of(*pool)) return pool->dequeue_as_guest(pages, n);
  static std::atomic<bool> said{false};
  if (!said.exchange(true, std::memory_order_relaxed)) {
    NEARPOOL_LOG(ERR,
                 "mempool %s: its pages are not mapped in this secondary process, so it takes "
                 "none; give the secondary a mempool of its own",
                 mempool->name);
  }
  return -ENOTSUP;
}

int dequeue(rte_mempool* mempool, void** pages, unsigned n) {
  PoolData* data = data_of(mempool);
  if (data->kind == PoolKind::kShared) return shared_pool(data)->dequeue(pages, n);
  if (in_secondary) [[unlikely]]
    return dequeue_in_secondary(mempool, queue_pool(data), pages, n);
  return queue_pool(data)->dequeue(pages, n);
}

unsigned get_count(const rte_mempool* mempool) {
  PoolData* data = data_of(mempool);
  if (data == nullptr) return 0;
  return data->kind == PoolKind::kQueue ? queue_pool(data)->available()
                                        : shared_pool(data)->available();
}

ssize_t calc_mem_size(const rte_mempool* mempool, uint32_t objects, uint32_t page_shift,
                      size_t* min_chunk_size, size_t* align) {
  PoolData* data = data_of(mempool);
  if (data == nullptr || data->kind != PoolKind::kShared) {
    return rte_mempool_op_calc_mem_size_default(mempool, objects, page_shift, min_chunk_size,
                                                align);
  }
  return shared_pool(data)->memory_size(objects, page_shift, min_chunk_size, align);
}

int populate(rte_mempool* mempool, unsigned most, void* address, rte_iova_t iova, size_t bytes,
             rte_mempool_populate_obj_cb_t* callback, void* argument) {
  PoolData* data = data_of(mempool);
  if (data->kind == PoolKind::kQueue) {
    return static_cast<int>(queue_pool(data)->declare_chunk(address, bytes));
  }
  return shared_pool(data)->populate(most, address, iova, bytes, callback, argument);
}

constinit const rte_mempool_ops page_pool_ops = [] {
  rte_mempool_ops ops{};
  for (std::size_t i = 0; i + 1 < sizeof(nearpool::kOpsName); ++i)
    ops.name[i] = nearpool::kOpsName[i];
  ops.alloc = alloc;
  ops.free = release;
  ops.enqueue = enqueue;
  ops.dequeue = dequeue;
  ops.get_count = get_count;
  ops.calc_mem_size = calc_mem_size;
  ops.populate = populate;
  return ops;
}();

void ready(int index, int others) {
  in_secondary = rte_eal_process_type() == RTE_PROC_SECONDARY;
  // The benchmark's second copy is a guest beside the first.
  if (!nearpool::kKeepRuleBuiltIn) return;
  nearpool::secondary::start(index, others);
  nearpool::telemetry::start();
}

RTE_INIT(register_page_pool_ops) {
  nearpool::register_after_all_drivers(page_pool_ops, ready);
}

}  // namespace
