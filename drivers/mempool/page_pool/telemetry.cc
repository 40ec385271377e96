// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.hpp"

#include <rte_telemetry.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "dpdk_compat.hpp"
#include "page_pool/arena_list.hpp"
#include "page_pool/registry.hpp"

namespace nearpool::telemetry {

namespace {

void add(rte_tel_data* dict, const char* name, uint64_t value) {
  compat::add_dict_uint(dict, name, value);
}
void add_signed(rte_tel_data* dict, const char* name, int64_t value) {
  rte_tel_data_add_dict_int(dict, name, static_cast<int>(value));
}

// One number, as the text after the command's comma. The library passes null where there is none.
bool read_number(const char* text, uint32_t& number) {
  if (text == nullptr) return false;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end && stop != text;
}

// ---- pools

// Pages per node id, as { "0": n, ... }. The library frees what is added to a dictionary.
void add_nodes(rte_tel_data* dict, const char* name, const uint32_t* pages_of_id) {
  rte_tel_data* nodes = rte_tel_data_alloc();
  if (nodes == nullptr) return;
  rte_tel_data_start_dict(nodes);
  for (unsigned node = 0; node < kMaxNodes; ++node) {
    if (pages_of_id[node] != 0) add(nodes, std::to_string(node).c_str(), pages_of_id[node]);
  }
  rte_tel_data_add_dict_container(dict, name, nodes, 0);
}

void add_info(rte_tel_data* dict, const QueuePool& pool) {
  page_pool_stats s;
  pool.read_stats(&s);
  add(dict, "id", s.id);
  rte_tel_data_add_dict_string(dict, "name", s.name);
  rte_tel_data_add_dict_string(dict, "kind", "queue");
  rte_tel_data_add_dict_string(dict, "arena", pool.arena()->name());
  add_signed(dict, "nid", s.nid);
  add(dict, "emulated", page_pool_nodes_emulated());
  add_signed(dict, "consumer", s.consumer);
  add(dict, "strict", s.strict);
  add(dict, "dying", s.dying);
  add(dict, "hardened", s.hardened);
  add(dict, "flags", s.flags);
  add(dict, "quota", s.quota);
  add(dict, "cache_size", s.cache_size);
  add(dict, "stash_size", s.stash_size);
  add(dict, "ring_size", s.ring_size);
  add(dict, "bulk", s.bulk);
}

void add_stats(rte_tel_data* dict, const QueuePool& pool) {
  page_pool_stats s;
  pool.read_stats(&s);
  add(dict, "id", s.id);
  rte_tel_data_add_dict_string(dict, "name", s.name);
  add(dict, "owned", s.owned);
  add(dict, "owned_foreign", s.owned_foreign);
  add(dict, "owned_pressure", s.owned_pressure);
  add_nodes(dict, "owned_node", s.owned_node);
  add(dict, "cached", s.cached);
  add(dict, "stashed", s.stashed);
  add(dict, "ringed", s.ringed);
  add_signed(dict, "inflight", s.inflight);
  add(dict, "alloc_slow", s.alloc_slow);
  add(dict, "alloc_arena", s.alloc_arena);
  add(dict, "alloc_empty", s.alloc_empty);
  add(dict, "alloc_refill", s.alloc_refill);
  add(dict, "alloc_waive", s.alloc_waive);
  add(dict, "alloc_fallback", s.alloc_fallback);
  add(dict, "alloc_pressure", s.alloc_pressure);
  add(dict, "alloc_failed", s.alloc_failed);
  add(dict, "quota_refused", s.quota_refused);
  add(dict, "recycle_cached", s.recycle_cached);
  add(dict, "recycle_ring", s.recycle_ring);
  add(dict, "recycle_ring_full", s.recycle_ring_full);
  add(dict, "released", s.released);
  add(dict, "released_surplus", s.released_surplus);
  add(dict, "foreign_refused", s.foreign_refused);
  add(dict, "pressure_refused", s.pressure_refused);
  add(dict, "flushed", s.flushed);
  add(dict, "nid_updates", s.nid_updates);
  add(dict, "returns_bulk", s.returns_bulk);
  add(dict, "returns_single", s.returns_single);
  add(dict, "returns_unregistered", s.returns_unregistered);
  add(dict, "takes_other", s.takes_other);
  add(dict, "takeovers", s.takeovers);
  add(dict, "misrouted", s.misrouted);
  add(dict, "misuse", s.misuse);
  add(dict, "strict_cycles", s.strict_cycles);
}

void add_info(rte_tel_data* dict, const SharedPool& pool) {
  const rte_mempool& mempool = pool.mempool();
  add(dict, "id", pool.id);
  rte_tel_data_add_dict_string(dict, "name", mempool.name);
  rte_tel_data_add_dict_string(dict, "kind", "shared");
  add(dict, "nodes", pool.arena().nb_nodes());
  add(dict, "emulated", page_pool_nodes_emulated());
  add(dict, "strict", pool.mode() == SharedPool::kMixed);
  add(dict, "dying", 0);
  add(dict, "hardened", pool.hardened());
  add(dict, "quota", mempool.size);
  add(dict, "cache_size", mempool.cache_size);
  add(dict, "bulk", pool.bulk());
}

void add_stats(rte_tel_data* dict, const SharedPool& pool) {
  uint32_t owned = 0;
  uint32_t free = 0;
  uint32_t owned_node[kMaxNodes] = {};
  for (uint32_t node = 0; node < pool.arena().nb_nodes(); ++node) {
    const uint32_t pages = pool.arena().pages_of(node);
    owned_node[pool.arena().id_of(node)] = pages;
    owned += pages;
    free += pool.arena().free_list(node).free_pages();
  }
  const uint32_t cached = lcore_cache::pages_in_all(&pool.mempool());
  add(dict, "id", pool.id);
  rte_tel_data_add_dict_string(dict, "name", pool.mempool().name);
  add(dict, "owned", owned);
  add_nodes(dict, "owned_node", owned_node);
  add(dict, "cached", cached);
  add(dict, "stashed", free);  // in its free lists
  add_signed(dict, "inflight", int64_t{owned} - cached - free);
  const auto count = [&](const char* name, Counter counter) {
    add(dict, name, pool.count(counter));
  };
  count("alloc_slow", Counter::kAllocSlow);
  count("alloc_fallback", Counter::kAllocFallback);
  count("alloc_failed", Counter::kAllocFailed);
  count("recycle_cached", Counter::kRecycleCached);
  count("foreign_refused", Counter::kForeignRefused);
  count("flushed", Counter::kFlushed);
  count("nid_updates", Counter::kNidUpdates);
  count("returns_bulk", Counter::kReturnsBulk);
  count("returns_single", Counter::kReturnsSingle);
  count("returns_unregistered", Counter::kReturnsUnregistered);
  count("misuse", Counter::kMisuse);
}

// Calls fill(pool) for the pool of that id, of whichever kind. -EINVAL: the id is no number.
template <typename Fill>
int answer_for_pool(const char* params, rte_tel_data* answer, const Fill& fill) {
  uint32_t id = 0;
  if (!read_number(params, id)) return -EINVAL;
  bool found = false;
  rte_tel_data_start_dict(answer);
  Registry& registry = Registry::instance();
  const auto lock = registry.hold();
  registry.walk([&](QueuePool* pool) {
    if (pool->id != id) return;
    found = true;
    fill(*pool);
  });
  registry.walk_shared([&](SharedPool* pool) {
    if (pool->id != id) return;
    found = true;
    fill(*pool);
  });
  return found ? 0 : -ENOENT;
}

int pool_list(const char* /*command*/, const char* /*params*/, rte_tel_data* answer) {
  rte_tel_data_start_array(answer, RTE_TEL_INT_VAL);
  std::set<uint32_t> ids;
  Registry& registry = Registry::instance();
  {
    const auto lock = registry.hold();
    registry.walk([&](QueuePool* pool) { ids.insert(pool->id); });
    registry.walk_shared([&](SharedPool* pool) { ids.insert(pool->id); });
  }
  for (const uint32_t id : ids)
    rte_tel_data_add_array_int(answer, static_cast<int>(id));
  return 0;
}

int pool_info(const char* /*command*/, const char* params, rte_tel_data* answer) {
  return answer_for_pool(params, answer, [answer](const auto& pool) { add_info(answer, pool); });
}

int pool_stats(const char* /*command*/, const char* params, rte_tel_data* answer) {
  return answer_for_pool(params, answer, [answer](const auto& pool) { add_stats(answer, pool); });
}

// ---- arenas

int arena_list(const char* /*command*/, const char* /*params*/, rte_tel_data* answer) {
  rte_tel_data_start_array(answer, RTE_TEL_INT_VAL);
  std::set<int> nodes;
  ArenaList::instance().walk([&](page_arena* arena) {
    const PageArena& pages = arena->handle->arena();
    for (uint32_t i = 0; i < pages.nb_nodes(); ++i)
      nodes.insert(pages.id_of(i));
  });
  for (const int node : nodes)
    rte_tel_data_add_array_int(answer, node);
  return 0;
}

void add_node_of_arena(rte_tel_data* arenas, const char* name, const page_arena_stats& s) {
  rte_tel_data* entry = rte_tel_data_alloc();
  if (entry == nullptr) return;
  rte_tel_data_start_dict(entry);
  add(entry, "pages", s.pages);
  add(entry, "free", s.free);
  add(entry, "min", s.min);
  add(entry, "low", s.low);
  add(entry, "high", s.high);
  add(entry, "pressure_out", s.pressure_out);
  add(entry, "pressure_taken", s.pressure_taken);
  add(entry, "fallback_taken", s.fallback_taken);
  add(entry, "below_low", s.below_low);
  add(entry, "below_min", s.below_min);
  add(entry, "misplaced", s.misplaced);
  add(entry, "asking", s.asking);
  add(entry, "forced", s.forced);
  rte_tel_data_add_dict_container(arenas, name, entry, 0);
}

int arena_info(const char* /*command*/, const char* params, rte_tel_data* answer) {
  uint32_t node = 0;
  if (!read_number(params, node)) return -EINVAL;
  uint64_t pages = 0;
  uint64_t free = 0;
  bool found = false;
  rte_tel_data* arenas = rte_tel_data_alloc();
  if (arenas == nullptr) return -ENOMEM;
  rte_tel_data_start_dict(arenas);
  ArenaList::instance().walk([&](page_arena* arena) {
    page_arena_stats s;
    for (uint32_t i = 0; i < page_arena_nb_nodes(arena); ++i) {
      if (page_arena_get_stats(arena, i, &s) != 0 || s.node != static_cast<int>(node)) continue;
      found = true;
      pages += s.pages;
      free += s.free;
      add_node_of_arena(arenas, arena->handle->arena().name(), s);
    }
  });
  if (!found) {
    rte_tel_data_free(arenas);
    return -ENOENT;
  }
  rte_tel_data_start_dict(answer);
  add(answer, "node", node);
  add(answer, "emulated", page_pool_nodes_emulated());
  add(answer, "pages", pages);
  add(answer, "free", free);
  rte_tel_data_add_dict_container(answer, "arenas", arenas, 0);
  return 0;
}

}  // namespace

void start() {
  rte_telemetry_register_cmd("/page_pool/list", pool_list, "Ids of the page pools. No parameters");
  rte_telemetry_register_cmd("/page_pool/info", pool_info,
                             "What a page pool is. Parameter: id of a pool");
  rte_telemetry_register_cmd(
      "/page_pool/stats", pool_stats,
      "Books and counters of a page pool, in pages. Parameter: id of a pool");
  rte_telemetry_register_cmd("/page_arena/list", arena_list,
                             "Nodes that arenas have pages on. No parameters");
  rte_telemetry_register_cmd("/page_arena/info", arena_info,
                             "Page memory of a node, in all and by arena. Parameter: node id");
}

}  // namespace nearpool::telemetry
