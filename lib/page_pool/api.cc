// SPDX-License-Identifier: BSD-3-Clause
// The C API: page_pool.h.
#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "numa/current_node.hpp"
#include "page_arena/arena_handle.hpp"
#include "page_pool.h"
#include "page_pool/arena_list.hpp"
#include "page_pool/queue_pool.hpp"
#include "page_pool/registry.hpp"

static_assert(PAGE_POOL_MAX_NODES == nearpool::kMaxNodes);
static_assert(PAGE_POOL_ANY_NODE == nearpool::numa::kAnyNode);
static_assert(PAGE_ARENA_NO_WATERMARK == nearpool::ArenaHandle::kNoWatermark);

namespace {

using nearpool::ArenaList;
using nearpool::Error;
using nearpool::QueuePool;
using nearpool::Registry;

thread_local std::string last_error = "no call has failed";

int report(const Error& error) {
  last_error = error.message;
  return error.code;
}

// struct page_pool is never completed: it is the C name of a QueuePool.
QueuePool* from(page_pool* pool) {
  return reinterpret_cast<QueuePool*>(pool);
}
const QueuePool* from(const page_pool* pool) {
  return reinterpret_cast<const QueuePool*>(pool);
}
page_pool* to(QueuePool* pool) {
  return reinterpret_cast<page_pool*>(pool);
}

bool good_pool_name(const char* name) {
  if (name == nullptr) return false;
  const std::string_view text(name);
  return !text.empty() && text.size() <= PAGE_POOL_NAME_MAX &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

Error secondary(const char* what) {
  return {-ENOTSUP, fmt::format("{} is made in a secondary process, which does not have the pages; "
                                "make it in the primary process",
                                what)};
}

}  // namespace

extern "C" {

const char* page_pool_error(void) {
  return last_error.c_str();
}

// ---- topology

int page_pool_emulate_nodes(const char* map) {
  auto topology = nearpool::numa::Topology::from_lcore_map(map == nullptr ? "" : map,
                                                           nearpool::numa::system_topology());
  if (!topology) return report(topology.error());
  auto used = nearpool::numa::use_topology(std::move(*topology));
  return used ? 0 : report(used.error());
}

bool page_pool_nodes_emulated(void) {
  return nearpool::numa::system_topology().emulated();
}

int page_pool_current_node(void) {
  const nearpool::numa::Topology& topology = nearpool::numa::system_topology();
  return topology.memory_node(nearpool::numa::current_node(topology));
}

int page_pool_lcore_node(unsigned int lcore) {
  const nearpool::numa::Topology& topology = nearpool::numa::system_topology();
  return topology.memory_node(topology.node_of_lcore(lcore));
}

// ---- arena

int page_arena_create(const struct page_arena_params* params, struct page_arena** arena) {
  if (params == nullptr || arena == nullptr || params->name == nullptr ||
      params->nodes == nullptr || params->nb_nodes == 0) {
    return report({-EINVAL, "an arena needs a name and pages on at least one node"});
  }
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return report(secondary("an arena"));
  nearpool::ArenaRequest request{
      .name = params->name,
      .nodes = {},
      .data_room = params->data_room,
      .priv_size = params->priv_size,
      .min_pages = params->min_pages,
      .low_pages = params->low_pages,
      .high_pages = params->high_pages,
      .hugepages = (params->flags & PAGE_ARENA_F_NO_HUGE) == 0,
      .strict = (params->flags & PAGE_ARENA_F_LENIENT) == 0,
  };
  for (uint32_t i = 0; i < params->nb_nodes; ++i) {
    request.nodes.push_back({params->nodes[i].node, params->nodes[i].pages});
  }
  auto handle = nearpool::ArenaHandle::create(request);
  if (!handle) return report(handle.error());
  *arena = ArenaList::instance().add(std::move(*handle));
  return 0;
}

int page_arena_destroy(struct page_arena* arena) {
  if (arena == nullptr) return 0;
  const auto in_use = [](const nearpool::PageArena& pages) {
    return Registry::instance().uses(&pages);
  };
  if (ArenaList::instance().remove(arena, in_use)) return 0;
  return report({-EBUSY, fmt::format("arena {}: pools still use it; destroy them first",
                                     arena->handle->arena().name())});
}

int page_arena_dma_map(struct page_arena* arena, struct rte_device* device) {
  auto mapped = arena->handle->memory().dma_map(device);
  return mapped ? 0 : report(mapped.error());
}

int page_arena_dma_unmap(struct page_arena* arena, struct rte_device* device) {
  auto unmapped = arena->handle->memory().dma_unmap(device);
  return unmapped ? 0 : report(unmapped.error());
}

uint32_t page_arena_nb_nodes(const struct page_arena* arena) {
  return arena->handle->arena().nb_nodes();
}

int page_arena_get_stats(const struct page_arena* arena, uint32_t index,
                         struct page_arena_stats* stats) {
  const nearpool::PageArena& pages = arena->handle->arena();
  if (index >= pages.nb_nodes()) {
    return report({-EINVAL, fmt::format("arena {}: node index {} is not in 0 to {}", pages.name(),
                                        index, pages.nb_nodes() - 1)});
  }
  const nearpool::FreeList::Levels levels = pages.free_list(index).levels();
  const nearpool::Watermarks marks = pages.free_list(index).watermarks();
  *stats = {};
  stats->node = pages.id_of(index);
  stats->pages = pages.pages_of(index);
  stats->free = levels.free;
  stats->min = marks.min;
  stats->low = marks.low;
  stats->high = marks.high;
  stats->pressure_out = pages.pressure_out(index);
  stats->pressure_taken = pages.pressure_taken(index);
  stats->fallback_taken = pages.fallback_taken(index);
  stats->below_low = levels.below_low;
  stats->below_min = levels.below_min;
  stats->misplaced = arena->handle->memory().misplaced(index);
  stats->asking = levels.asking;
  stats->forced = levels.forced;
  return 0;
}

int page_arena_node_of(const struct page_arena* arena, const void* page) {
  const nearpool::PageArena& pages = arena->handle->arena();
  const uint32_t node = pages.node_of(page);
  return node == nearpool::PageArena::kNoNode ? -EINVAL : pages.id_of(node);
}

int page_arena_force_pressure(struct page_arena* arena, int node, bool on) {
  nearpool::PageArena& pages = arena->handle->arena();
  for (uint32_t index = 0; index < pages.nb_nodes(); ++index) {
    if (pages.id_of(index) != node) continue;
    pages.free_list(index).force_pressure(on);
    return 0;
  }
  return report({-EINVAL, fmt::format("arena {} has no pages on node {}", pages.name(), node)});
}

void page_arena_walk(void (*callback)(struct page_arena* arena, void* argument), void* argument) {
  ArenaList::instance().walk([&](page_arena* arena) { callback(arena, argument); });
}

// ---- pool

int page_pool_create(const struct page_pool_params* params, struct page_pool** pool) {
  if (params == nullptr || pool == nullptr || params->arena == nullptr) {
    return report({-EINVAL, "a pool needs a name and an arena"});
  }
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return report(secondary("a pool"));
  if (!good_pool_name(params->name)) {
    return report(
        {-EINVAL, fmt::format("pool name '{}' is not 1 to {} letters, digits, '_', '-' "
                              "or '.'",
                              params->name == nullptr ? "" : params->name, PAGE_POOL_NAME_MAX)});
  }
  auto made = QueuePool::create(*params, &params->arena->handle->arena());
  if (!made) return report(made.error());
  Registry::instance().add(*made);
  *pool = to(*made);
  return 0;
}

struct rte_mempool* page_pool_mempool(struct page_pool* pool) {
  return from(pool)->mempool();
}

struct page_pool* page_pool_from_mempool(const struct rte_mempool* mempool) {
  struct page_pool* found = nullptr;
  Registry::instance().walk([&](QueuePool* pool) {
    if (pool->mempool() == mempool) found = to(pool);
  });
  return found;
}

bool page_pool_nid_changed(struct page_pool* pool, int node) {
  return from(pool)->nid_changed(node);
}

bool page_pool_update_nid(struct page_pool* pool, int node) {
  return from(pool)->update_nid(node);
}

void page_pool_release(struct page_pool* pool) {
  from(pool)->leave();
}

int page_pool_alloc_bulk(struct page_pool* pool, struct rte_mbuf** buffers, unsigned int n) {
  return rte_pktmbuf_alloc_bulk(from(pool)->mempool(), buffers, n) == 0 ? 0 : -ENOBUFS;
}

void page_pool_put_bulk(struct page_pool* pool, struct rte_mbuf* const* buffers, unsigned int n) {
  rte_mempool_put_bulk(from(pool)->mempool(), reinterpret_cast<void* const*>(buffers), n);
}

void page_pool_flush_returns(struct page_pool* pool) {
  from(pool)->flush_returns();
}

int page_pool_set_flags(struct page_pool* pool, uint32_t set, uint32_t clear) {
  constexpr uint32_t kChangeable = PAGE_POOL_F_NO_NODE_FOLLOW | PAGE_POOL_F_NO_FOREIGN_REJECT |
                                   PAGE_POOL_F_NO_PRESSURE_REJECT | PAGE_POOL_F_NO_BULK_RETURN;
  if (((set | clear) & ~kChangeable) != 0) {
    return report({-EINVAL, fmt::format("flags {:#x} cannot be changed at run time, {:#x} can",
                                        (set | clear) & ~kChangeable, kChangeable)});
  }
  from(pool)->set_flags(set, clear);
  return 0;
}

int page_pool_set_quota(struct page_pool* pool, uint32_t quota) {
  auto done = from(pool)->set_quota(quota);
  return done ? 0 : report(done.error());
}

void page_pool_get_stats(const struct page_pool* pool, struct page_pool_stats* stats) {
  from(pool)->read_stats(stats);
}

int64_t page_pool_inflight(const struct page_pool* pool) {
  return from(pool)->inflight();
}

int page_pool_walk_out(const struct page_pool* pool, uint64_t older_than_ms,
                       void (*callback)(const struct page_pool_out* out, void* argument),
                       void* argument) {
  const int result = from(pool)->walk_out(
      older_than_ms, [&](const page_pool_out& out) { callback(&out, argument); });
  if (result == 0) return 0;
  return report({result, fmt::format("pool {} does not remember since when its pages are out; make "
                                     "it with PAGE_POOL_F_LEAK_WATCH",
                                     from(pool)->name())});
}

int page_pool_destroy(struct page_pool* pool) {
  if (pool == nullptr) return 0;
  return Registry::instance().retire(from(pool)) ? 0 : -EINPROGRESS;
}

void page_pool_use_qsbr(struct rte_rcu_qsbr* qsbr) {
  Registry::instance().use_qsbr(qsbr);
}

unsigned int page_pool_service(void) {
  return Registry::instance().service();
}

void page_pool_walk(void (*callback)(struct page_pool* pool, void* argument), void* argument) {
  Registry::instance().walk([&](QueuePool* pool) { callback(to(pool), argument); });
}

}  // extern "C"
