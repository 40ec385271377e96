// SPDX-License-Identifier: BSD-3-Clause
// show page_pool, page_arena, numa, dying, and what can be set of them.
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "cli/session.hpp"
#include "control/leaks.hpp"

namespace nearpool {
namespace {

void print_pool(const page_pool_stats& s) {
  const char* emulated = page_pool_nodes_emulated() ? " (emulated)" : "";
  fmt::print("pool {} (id {}): node {}{}, {}, {}{}\n", s.name, s.id, s.nid, emulated,
             s.consumer < 0 ? "polled by nobody" : fmt::format("polled by lcore {}", s.consumer),
             s.strict ? "strict" : "relaxed", s.hardened ? ", hardened" : "");
  fmt::print("  owned {} = cached {} + stashed {} + ringed {} + inflight {}; quota {}\n", s.owned,
             s.cached, s.stashed, s.ringed, s.inflight, s.quota);
  const uint32_t local = s.owned - s.owned_foreign;
  fmt::print("  local {:.1f}%: {} of {}; pressure pages {}; by node:",
             s.owned == 0 ? 100.0 : 100.0 * local / s.owned, local, s.owned, s.owned_pressure);
  for (int node = 0; node < PAGE_POOL_MAX_NODES; node++) {
    if (s.owned_node[node] != 0) fmt::print(" {}:{}", node, s.owned_node[node]);
  }
  fmt::print("\n  cache {}, ring {}, bulk {}\n", s.cache_size, s.ring_size, s.bulk);
  fmt::print(
      "  alloc: slow {}, arena {}, empty {}, refill {}, waive {}, fallback {}, pressure {}, failed "
      "{}, quota refused {}, by others {}\n",
      s.alloc_slow, s.alloc_arena, s.alloc_empty, s.alloc_refill, s.alloc_waive, s.alloc_fallback,
      s.alloc_pressure, s.alloc_failed, s.quota_refused, s.takes_other);
  fmt::print(
      "  return: cached {}, ring {}, ring full {}, bulk calls {}, single calls {}, unregistered "
      "threads {}\n",
      s.recycle_cached, s.recycle_ring, s.recycle_ring_full, s.returns_bulk, s.returns_single,
      s.returns_unregistered);
  fmt::print(
      "  released {}: surplus {}, foreign refused {}, pressure refused {}; nid updates {}, flushed "
      "{}, takeovers {}, misrouted {}, misuse {}\n",
      s.released, s.released_surplus, s.foreign_refused, s.pressure_refused, s.nid_updates,
      s.flushed, s.takeovers, s.misrouted, s.misuse);
}

void print_buffers(const QueueBuffers& buffers) {
  if (buffers.pool() != nullptr) {
    page_pool_stats stats;
    page_pool_get_stats(buffers.pool(), &stats);
    print_pool(stats);
    return;
  }
  const PoolBooks books = buffers.books();
  fmt::print("stock mempool {}: {} buffers, {} in use\n", books.name, books.owned, books.inflight);
}

Status show_all_pools(const Session& session) {
  if (session.engine.forwarding()) fmt::print("(approximate while forwarding runs)\n");
  for (const auto& entry : session.engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (queue->buffers) print_buffers(*queue->buffers);
    }
  }
  return {};
}

Result<QueueKey> key_at(const Arguments& arguments, size_t index) {
  const auto port = arguments.number(index, "port", RTE_MAX_ETHPORTS);
  if (!port) return tl::unexpected(port.error());
  const auto queue = arguments.number(index + 1, "queue", RTE_MAX_QUEUES_PER_PORT);
  if (!queue) return tl::unexpected(queue.error());
  return QueueKey{static_cast<uint16_t>(*port), static_cast<uint16_t>(*queue)};
}

Result<QueueBuffers*> buffers_at(const Session& session, const Arguments& arguments, size_t index) {
  const auto key = key_at(arguments, index);
  if (!key) return tl::unexpected(key.error());
  const auto queue = session.engine.find_queue(*key);
  if (!queue) return tl::unexpected(queue.error());
  if (!(*queue)->buffers) {
    return failure("port {} queue {} is not set up: port start {}", key->port, key->queue,
                   key->port);
  }
  return (*queue)->buffers.get();
}

Status need_arena(const Session& session) {
  if (session.engine.memory()->arena() != nullptr) return {};
  return failure("the buffers come from stock mempools ({}): there is no page arena",
                 session.engine.options().pool.ops);
}

Status show_arena(const Session& session) {
  if (auto status = need_arena(session); !status) return status;
  const page_arena* arena = session.engine.memory()->arena();
  for (uint32_t i = 0; i < page_arena_nb_nodes(arena); i++) {
    page_arena_stats s;
    if (page_arena_get_stats(arena, i, &s) != 0) continue;
    fmt::print("node {}{}: {} pages, {} free; watermarks min {} low {} high {}{}{}\n", s.node,
               page_pool_nodes_emulated() ? " (emulated)" : "", s.pages, s.free, s.min, s.low,
               s.high, s.asking ? "; asks for surplus" : "", s.forced ? "; pressure forced" : "");
    fmt::print(
        "  pressure pages out {}, taken {}; fallback taken {}; below low {} times, below min {} "
        "times; misplaced {}\n",
        s.pressure_out, s.pressure_taken, s.fallback_taken, s.below_low, s.below_min, s.misplaced);
  }
  return {};
}

Status show_numa(const Session& session) {
  fmt::print("topology: {}\n", page_pool_nodes_emulated() ? "emulated" : "of the machine");
  unsigned lcore;
  RTE_LCORE_FOREACH(lcore) {
    fmt::print("lcore {}: node {}{}\n", lcore, page_pool_lcore_node(lcore),
               lcore == rte_get_main_lcore() ? ", main" : "");
  }
  for (const auto& [id, port] : session.engine.ports()) {
    fmt::print("port {}: node {}\n", id,
               port->node() == kUnknownNode ? "unknown" : std::to_string(port->node()));
  }
  return {};
}

struct Dying {
  const Engine& engine;
  unsigned count = 0;
};

void print_if_dying(page_pool* pool, void* argument) {
  page_pool_stats stats;
  page_pool_get_stats(pool, &stats);
  if (!stats.dying) return;
  auto* dying = static_cast<Dying*>(argument);
  dying->count++;
  fmt::print("dying: pool {} (id {}), {} pages still out, for {:.0f} s\n", stats.name, stats.id,
             stats.inflight, dying->engine.dying_seconds(stats.id));
}

Status show_dying(const Session& session) {
  Dying dying{session.engine};
  page_pool_walk(print_if_dying, &dying);
  if (dying.count == 0) fmt::print("no pool is dying\n");
  return {};
}

struct Switch {
  const char* name;  // at the prompt; the option is "no-" and this
  bool PoolOptions::*member;
};
constexpr Switch kSwitches[] = {
    {"node-follow", &PoolOptions::node_follow},
    {"foreign-reject", &PoolOptions::foreign_reject},
    {"pressure-reject", &PoolOptions::pressure_reject},
    {"bulk-return", &PoolOptions::bulk_return},
};

Status set_switch(Session& session, const std::string& name, bool on) {
  if (auto status = need_arena(session); !status) return status;
  PoolOptions& options = session.engine.options().pool;
  const uint32_t before = pool_flags(options);
  for (const Switch& entry : kSwitches) {
    if (name == entry.name) options.*entry.member = on;
  }
  const uint32_t after = pool_flags(options);
  for (const auto& entry : session.engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (!queue->buffers) continue;
      if (page_pool_set_flags(queue->buffers->pool(), after & ~before, before & ~after) != 0) {
        return failure("pool {}: {}", queue->buffers->books().name, page_pool_error());
      }
    }
  }
  session.engine.pool_options_changed();
  session.chosen("no-" + name, on ? "false" : "true");
  return {};
}

Status set_pressure(Session& session, const Arguments& arguments) {
  if (auto status = need_arena(session); !status) return status;
  const auto node = arguments.number(3, "node", PAGE_POOL_MAX_NODES);
  if (!node) return tl::unexpected(node.error());
  if (page_arena_force_pressure(session.engine.memory()->arena(), static_cast<int>(*node),
                                arguments.on(4)) != 0) {
    return failure("node {}: {}", *node, page_pool_error());
  }
  return {};
}

Status set_quota(const Session& session, const Arguments& arguments) {
  const auto buffers = buffers_at(session, arguments, 2);
  if (!buffers) return tl::unexpected(buffers.error());
  const auto quota = arguments.number(5, "quota", UINT32_MAX);
  if (!quota) return tl::unexpected(quota.error());
  if ((*buffers)->pool() == nullptr) return need_arena(session);
  if (page_pool_set_quota((*buffers)->pool(), *quota) != 0) {
    return failure("quota {}: {}", *quota, page_pool_error());
  }
  return {};
}

}  // namespace

std::vector<Command> pool_commands(Session& s) {
  const std::string show = "pools";
  return {
      {"show page_pool all", show, "the page pools of all queues",
       [&s](const Arguments&) { return show_all_pools(s); }},
      {"show page_pool PORT QUEUE", show, "the page pool of a queue",
       [&s](const Arguments& a) -> Status {
         const auto buffers = buffers_at(s, a, 2);
         if (!buffers) return tl::unexpected(buffers.error());
         print_buffers(**buffers);
         return {};
       }},
      {"show page_pool leaks", show, "pages out for longer than --leak-report says",
       [&s](const Arguments&) { return print_leaks(stdout, s.engine); }},
      {"show page_arena", show, "the page memory of each node",
       [&s](const Arguments&) { return show_arena(s); }},
      {"show numa", show, "the nodes of lcores and ports",
       [&s](const Arguments&) { return show_numa(s); }},
      {"show dying", show, "pools that wait for their last pages",
       [&s](const Arguments&) { return show_dying(s); }},
      {"set node-follow|foreign-reject|pressure-reject|bulk-return on|off", show,
       "what the pools do with pages that come back",
       [&s](const Arguments& a) { return set_switch(s, a.word(1), a.on(2)); }},
      {"set page_arena pressure NODE on|off", show, "lets a node behave as if below min",
       [&s](const Arguments& a) { return set_pressure(s, a); }},
      {"set page_pool PORT QUEUE quota PAGES", show, "most pages the pool of a queue may own",
       [&s](const Arguments& a) { return set_quota(s, a); }},
  };
}

}  // namespace nearpool
