// SPDX-License-Identifier: BSD-3-Clause
// Birth and end of a shared pool: which nodes its memory comes from, and its checked mode.
#include <fmt/format.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "numa/current_node.hpp"
#include "numa/node_memory.hpp"
#include "page_arena/log.hpp"
#include "page_pool/shared_pool.hpp"

namespace nearpool {

namespace {

bool eal_knows(int socket) {
  for (unsigned i = 0; i < rte_socket_count(); ++i) {
    if (rte_socket_id_by_idx(i) == socket) return true;
  }
  return false;
}

// Bytes the EAL can give from a machine node: what its heap has, and hugepages it could still map.
std::size_t bytes_to_be_had(int socket) {
  rte_malloc_socket_stats heap{};
  std::size_t bytes = 0;
  if (rte_malloc_get_socket_stats(socket, &heap) == 0) bytes = heap.heap_freesz_bytes;
  const std::string& root = numa::system_topology().sysfs_root();
  for (const numa::HugepageCount& pages : numa::read_hugepages(root, socket)) {
    bytes += pages.page_bytes * pages.free;
  }
  return bytes;
}

}  // namespace

SharedPool::SharedPool(rte_mempool* mempool, const SharedOptions& options)
    : PoolData(PoolKind::kShared),
      mempool_(mempool),
      // Not more than the stock cache would keep back, or a tiny pool runs dry.
      bulk_(std::min(options.bulk, lcore_cache::room(mempool->cache_size))),
      hardened_(options.hardened),
      refuse_foreign_(options.refuse_foreign && kKeepRuleBuiltIn),
      socket_(mempool->socket_id) {
}

Result<SharedPool*> SharedPool::create(rte_mempool* mempool, const SharedOptions& options) {
  void* memory = rte_zmalloc_socket("page_pool", sizeof(SharedPool), 64, mempool->socket_id);
  if (memory == nullptr) memory = rte_zmalloc("page_pool", sizeof(SharedPool), 64);
  if (memory == nullptr) {
    return fail(-ENOMEM, fmt::format("mempool {}: no EAL memory for its counters ({} bytes); give "
                                     "the EAL more with -m or --socket-mem",
                                     mempool->name, sizeof(SharedPool)));
  }
  auto* pool = new (memory) SharedPool(mempool, options);
  if (Result<void> planned = pool->plan(); !planned) {
    destroy(pool);
    return tl::unexpected(planned.error());
  }
  if (mempool->cache_size == 0) return pool;
  const bool closed = pool->hardened_ || !compat::kCachesGoByThreshold;
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    rte_mempool_cache* cache = &mempool->local_cache[lcore];
    lcore_cache::gather(cache, closed ? 0 : pool->bulk_);
    // Workers that take are consumers from their first take on. The main lcore, which fills rings
    // at start, has to show that it is one; so do threads that register later.
    const bool worker = rte_eal_lcore_role(lcore) == ROLE_RTE && lcore != rte_get_main_lcore();
    if (worker && !closed) cache->size = mempool->cache_size;
  }
  return pool;
}

void SharedPool::destroy(SharedPool* pool) {
  if (pool == nullptr) return;
  PageArena::destroy(pool->arena_);
  pool->~SharedPool();
  rte_free(pool);
}

// Divides the pages among the nodes of the program's lcores, by their number. On a machine with one
// node, or for a program that runs on the node it asked for, all come from there.
Result<void> SharedPool::plan() {
  const numa::Topology& topology = numa::system_topology();
  std::array<uint32_t, kMaxNodes> lcores{};
  unsigned lcore = 0;
  RTE_LCORE_FOREACH(lcore) {
    const int node = topology.memory_node(topology.node_of_lcore(lcore));
    if (eal_knows(topology.real_node(node))) ++lcores[static_cast<unsigned>(node)];
  }
  std::vector<PageArena::NodeCapacity> nodes;
  uint32_t nb_lcores = 0;
  for (unsigned node = 0; node < kMaxNodes; ++node) {
    if (lcores[node] == 0) continue;
    nodes.push_back({static_cast<int>(node), mempool_->size});
    nb_lcores += lcores[node];
  }
  const bool asked_for_one = socket_ >= 0 && socket_ < static_cast<int>(kMaxNodes);
  if (nodes.empty() || (nodes.size() == 1 && !topology.emulated() && asked_for_one)) {
    nodes = {{asked_for_one ? socket_ : topology.memory_node(numa::kAnyNode), mempool_->size}};
    lcores[static_cast<unsigned>(nodes.front().node)] = nb_lcores = 1;
  }
  const PageLayout layout{mempool_->header_size, mempool_->elt_size, mempool_->trailer_size};
  Result<PageArena*> arena = PageArena::create(mempool_->name, layout, nodes, {}, topology);
  if (!arena) return tl::unexpected(arena.error());
  arena_ = *arena;

  uint32_t left = mempool_->size;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const uint64_t by_lcores =
        uint64_t{mempool_->size} * lcores[static_cast<unsigned>(nodes[i].node)] / nb_lcores;
    const uint64_t fits = nodes.size() == 1
                              ? left
                              : bytes_to_be_had(topology.real_node(nodes[i].node)) / layout.total();
    shares_[i].wanted = static_cast<uint32_t>(std::min({by_lcores, fits, uint64_t{left}}));
    if (shares_[i].wanted < by_lcores) {
      NEARPOOL_LOG(WARNING,
                   "mempool %s: node %d has room for %u of the %u pages of its lcores; the others "
                   "come from elsewhere",
                   mempool_->name, nodes[i].node, shares_[i].wanted,
                   static_cast<unsigned>(by_lcores));
    }
    left -= shares_[i].wanted;
  }
  // What is left, by rounding or for want of memory, goes to the node the program asked for.
  const uint32_t rest = asked_for_one ? arena_->index_of(socket_) : 0;
  shares_[rest].wanted += left;
  mode_.store(rest, std::memory_order_relaxed);
  for (Lcore& state : lcores_)
    state.nid.store(rest, std::memory_order_relaxed);
  return {};
}

// The first node that has not got its share.
uint32_t SharedPool::next_share() const {
  uint32_t node = 0;
  while (node + 1 < arena_->nb_nodes() && shares_[node].populated >= shares_[node].wanted)
    ++node;
  return node;
}

// rte_mempool_populate_default() reads mempool->socket_id for each memzone it reserves, and asks
// for as much as we say: so each node's share comes from that node.
ssize_t SharedPool::memory_size(uint32_t objects, uint32_t page_shift, std::size_t* min_chunk,
                                std::size_t* align) {
  if (has_several_nodes()) {
    const uint32_t node = next_share();
    mempool_->socket_id = numa::system_topology().real_node(arena_->id_of(node));
    const Share& share = shares_[node];
    if (share.wanted > share.populated) objects = std::min(objects, share.wanted - share.populated);
  }
  return rte_mempool_op_calc_mem_size_default(mempool_, objects, page_shift, min_chunk, align);
}

int SharedPool::populate(unsigned most, void* address, rte_iova_t iova, std::size_t bytes,
                         rte_mempool_populate_obj_cb_t* callback, void* argument) {
  uint32_t node = has_several_nodes() ? next_share() : 0;
  if (has_several_nodes()) {
    const Share& share = shares_[node];
    if (share.wanted > share.populated) most = std::min(most, share.wanted - share.populated);
    const rte_memseg_list* list = rte_mem_virt2memseg_list(address);
    const bool sure = list != nullptr && list->external == 0 && rte_eal_has_hugepages() != 0;
    // Where the EAL says that the memory lies elsewhere, believe it.
    if (sure && !numa::system_topology().emulated()) node = arena_->index_of(list->socket_id);
  }
  auto* lo = static_cast<std::byte*>(address);
  if (Result<void> added = arena_->add_chunk(node, lo, lo + bytes, hardened_); !added) {
    NEARPOOL_LOG(ERR, "%s", added.error().message.c_str());
    return added.error().code;
  }
  // The helper enqueues each object as it is made.
  populating_ = true;
  const int made =
      rte_mempool_op_populate_helper(mempool_, 0, most, address, iova, bytes, callback, argument);
  populating_ = false;
  if (made > 0) shares_[node].populated += static_cast<uint32_t>(made);
  if (mempool_->populated_size >= mempool_->size) mempool_->socket_id = socket_;
  return made;
}

void SharedPool::mark_out(void* const* pages, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    // Relaxed: whoever returns the page got it from us through the program.
    arena_->mark_of(pages[i])->fetch_or(kOut, std::memory_order_relaxed);
  }
}

// Objects as they are made, and hardened mode, where each page that comes back is looked at.
void SharedPool::enqueue_checked(void* const* pages, unsigned n) {
  const unsigned lcore = rte_lcore_id();
  for (unsigned i = 0; i < n; ++i) {
    void* page = pages[i];
    if (populating_) {
      arena_->add_page(page);
      continue;
    }
    std::atomic<uint8_t>* mark = arena_->mark_of(page);
    const char* complaint = nullptr;
    if (mark == nullptr || (mark->load(std::memory_order_relaxed) & kIsPage) == 0) {
      complaint = "is no page of it";
    } else if ((mark->fetch_and(static_cast<uint8_t>(~kOut), std::memory_order_relaxed) & kOut) ==
               0) {
      complaint = "was not out: it was returned twice";
    }
    if (complaint == nullptr) {
      give(&page, 1);
      continue;
    }
    counters_.add(lcore, Counter::kMisuse, 1);
    NEARPOOL_LOG(ERR, "mempool %s: %p, returned by lcore %d, %s; it is not taken in",
                 mempool_->name, page, static_cast<int>(lcore), complaint);
  }
}

}  // namespace nearpool
