// SPDX-License-Identifier: BSD-3-Clause
// The control thread's side of a queue pool: birth, options, housekeeping, books, end.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

#include "numa/current_node.hpp"
#include "page_arena/log.hpp"
#include "page_pool/queue_pool.hpp"

namespace nearpool {

namespace {

// How many pages fill a core's own cache, by what forwarding touches of each: the two lines of its
// mbuf. With so many returned after it, a page has left the cache of the lcore that returned it.
uint32_t pages_in_private_cache() {
  constexpr long kTouchedBytes = 2 * RTE_CACHE_LINE_SIZE;
  constexpr long kUsual = 1 << 20;
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return static_cast<uint32_t>(
      std::clamp((bytes > 0 ? bytes : kUsual) / kTouchedBytes, 1024l, 16384l));
}

constexpr uint32_t kAllFlags = PAGE_POOL_F_NO_NODE_FOLLOW | PAGE_POOL_F_NO_FOREIGN_REJECT |
                               PAGE_POOL_F_NO_PRESSURE_REJECT | PAGE_POOL_F_NO_BULK_RETURN |
                               PAGE_POOL_F_HARDENED | PAGE_POOL_F_LEAK_WATCH;

Result<void> check(const page_pool_params& params, const PageArena& arena) {
  const char* name = params.name;
  if (params.quota < 1 || params.quota > arena.nb_pages()) {
    return fail(-EINVAL, fmt::format("pool {}: quota {} is not in 1 to {}, the pages of arena {}",
                                     name, params.quota, arena.nb_pages(), arena.name()));
  }
  if (params.ring_size != 0 && (params.ring_size < 64 || params.ring_size > (1u << 20))) {
    return fail(-EINVAL, fmt::format("pool {}: ring size {} is neither 0 (room for the quota) nor "
                                     "in 64 to {}",
                                     name, params.ring_size, 1u << 20));
  }
  if (params.stash_size != 0 && (params.stash_size < 64 || params.stash_size > (1u << 20))) {
    return fail(-EINVAL, fmt::format("pool {}: stash size {} is neither 0 (the quota) nor in 64 to "
                                     "{}",
                                     name, params.stash_size, 1u << 20));
  }
  if (params.cache_size > lcore_cache::kMaxSize) {
    return fail(-EINVAL, fmt::format("pool {}: cache size {} is not in 0 to {}", name,
                                     params.cache_size, lcore_cache::kMaxSize));
  }
  if (params.bulk != 0 && (params.bulk < 4 || params.bulk > 512)) {
    return fail(-EINVAL, fmt::format("pool {}: bulk {} is neither 0 (for {}) nor in 4 to 512", name,
                                     params.bulk, QueuePool::kDefaultBulk));
  }
  if (params.node < PAGE_POOL_ANY_NODE || params.node >= static_cast<int>(kMaxNodes)) {
    return fail(-EINVAL, fmt::format("pool {}: node {} is neither -1 (that of the calling thread) "
                                     "nor in 0 to {}",
                                     name, params.node, kMaxNodes - 1));
  }
  if ((params.flags & ~kAllFlags) != 0) {
    return fail(-EINVAL, fmt::format("pool {}: flags {:#x} are not known, allowed are {:#x}", name,
                                     params.flags & ~kAllFlags, kAllFlags));
  }
  return {};
}

}  // namespace

Result<QueuePool*> QueuePool::create(const page_pool_params& params, PageArena* arena) {
  if (Result<void> good = check(params, *arena); !good) return tl::unexpected(good.error());
  if ((params.flags & PAGE_POOL_F_LEAK_WATCH) != 0) {
    if (Result<void> kept = arena->keep_stamps(); !kept) return tl::unexpected(kept.error());
  }
  const int node =
      params.node == PAGE_POOL_ANY_NODE ? numa::current_node(numa::system_topology()) : params.node;
  const uint32_t ring_slots =
      rte_align32pow2((params.ring_size != 0 ? params.ring_size : params.quota) + 1);
  const auto ring_bytes = static_cast<std::size_t>(rte_ring_get_memsize(ring_slots));
  const std::size_t pool_bytes = RTE_ALIGN_CEIL(sizeof(QueuePool), std::size_t{64});
  // One block, so that nothing of the pool can be had only in part.
  const std::size_t bytes = pool_bytes + ring_bytes + params.quota * sizeof(void*);
  const int socket = numa::system_topology().real_node(arena->id_of(arena->index_of(node)));
  auto* memory = static_cast<std::byte*>(rte_zmalloc_socket("page_pool", bytes, 64, socket));
  if (memory == nullptr) memory = static_cast<std::byte*>(rte_zmalloc("page_pool", bytes, 64));
  if (memory == nullptr) {
    return fail(-ENOMEM, fmt::format("pool {}: no EAL memory for its ring, stash and counters ({} "
                                     "bytes); give the EAL more with -m or --socket-mem",
                                     params.name, bytes));
  }
  auto* pool = new (memory) QueuePool;
  pool->arena_ = arena;
  pool->ring_ = reinterpret_cast<rte_ring*>(memory + pool_bytes);
  pool->stash_ = reinterpret_cast<void**>(memory + pool_bytes + ring_bytes);
  pool->checked_copy_ = best_checked_copy();
  pool->stash_capacity_ = params.quota;
  pool->stash_limit_ =
      params.stash_size != 0 ? std::min(params.stash_size, params.quota) : params.quota;
  const uint32_t resting =
      std::min(params.quota - params.quota / kBusyShare, pages_in_private_cache());
  pool->resting_ = resting < kLeastResting ? 0 : resting;
  // A mempool refuses a cache that could hold more than the pool has.
  pool->cache_size_ =
      compat::kCachesGoByThreshold ? std::min(params.cache_size, params.quota * 2 / 3) : 0;
  // Nor may one lcore's returns hold the whole pool back.
  pool->bulk_ =
      std::min(params.bulk != 0 ? params.bulk : kDefaultBulk, std::max(1u, params.quota * 2 / 3));
  pool->hardened_ = (params.flags & (PAGE_POOL_F_HARDENED | PAGE_POOL_F_LEAK_WATCH)) != 0;
  pool->leak_watch_ = (params.flags & PAGE_POOL_F_LEAK_WATCH) != 0;
  pool->flags_.store(params.flags, std::memory_order_relaxed);
  pool->quota_.store(params.quota, std::memory_order_relaxed);
  pool->nid_.store(arena->index_of(node), std::memory_order_relaxed);
  pool->home_.store(&arena->free_list(pool->nid()), std::memory_order_relaxed);
  pool->strict_.store(pool->hardened_, std::memory_order_relaxed);
  pool->strict_since_.store(rte_get_tsc_cycles(), std::memory_order_relaxed);
  std::snprintf(pool->name_, sizeof(pool->name_), "%s", params.name);
  rte_ring_init(pool->ring_, params.name, ring_slots, 0);

  if (Result<void> made = pool->make_mempool(socket); !made) {
    rte_free(memory);
    return tl::unexpected(made.error());
  }
  return pool;
}

Result<void> QueuePool::make_mempool(int socket) {
  const auto make = [this](int on) {
    return rte_mempool_create_empty(name_, stash_capacity_, arena_->layout().element, cache_size_,
                                    sizeof(rte_pktmbuf_pool_private), on, 0);
  };
  rte_mempool* mempool = make(socket);
  if (mempool == nullptr && rte_errno == ENOMEM) mempool = make(SOCKET_ID_ANY);
  if (mempool == nullptr) {
    const int error = rte_errno;
    return fail(-error, fmt::format("pool {}: the EAL makes no mempool for it: {}", name_,
                                    error == EEXIST ? "a mempool of that name exists"
                                                    : rte_strerror(error)));
  }
  mempool_ = mempool;
  identity_ = mempool;
  const auto give_up = [&](int code, const char* what) {
    mempool->pool_data = nullptr;  // so that the ops know that it is us
    rte_mempool_free(mempool);
    mempool_ = nullptr;
    return fail(code, fmt::format("pool {}: {}: {}", name_, what, rte_strerror(-code)));
  };
  if (const int result = rte_mempool_set_ops_byname(mempool, kOpsName, this); result != 0) {
    return give_up(result, "its mempool ops are not registered");
  }
  if (cache_size_ != 0) {
    if (!hardened_) strict_caches_ = mempool->local_cache;
    // Nobody is the consumer yet: all lcores gather, none keeps.
    for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
      lcore_cache::gather(&mempool->local_cache[lcore], gather_limit());
    }
  }
  rte_pktmbuf_pool_private info{};
  info.mbuf_data_room_size = arena_->data_room();
  info.mbuf_priv_size = arena_->priv_size();
  rte_pktmbuf_pool_init(mempool, &info);
  // All memory is declared before the pool is READY: drivers never learn of a chunk added later.
  for (const IovaChunk& chunk : arena_->iova_chunks()) {
    const int result = rte_mempool_populate_iova(mempool, chunk.address, chunk.iova, chunk.bytes,
                                                 nullptr, nullptr);
    if (result <= 0) return give_up(result < 0 ? result : -EINVAL, "its memory is not accepted");
  }
  return {};
}

// mempool ops: the pages stay with the arena, so there is nothing to add to the mempool.
unsigned QueuePool::declare_chunk(const void* address, std::size_t bytes) {
  const IovaChunk& last = arena_->iova_chunks().back();
  const char* end = static_cast<const char*>(address) + bytes;
  // With the last chunk the mempool is complete; rte_mempool then announces it to drivers.
  if (end >= last.address + last.bytes) mempool_->populated_size = mempool_->size;
  return static_cast<unsigned>(std::max<std::size_t>(1, bytes / arena_->layout().total()));
}

void QueuePool::set_flags(uint32_t set, uint32_t clear) {
  constexpr uint32_t kChangeable = kAllFlags & ~(PAGE_POOL_F_HARDENED | PAGE_POOL_F_LEAK_WATCH);
  flags_.store((flags() & ~(clear & kChangeable)) | (set & kChangeable), std::memory_order_relaxed);
  // Strict first: what is drained after the stash was marked goes through the rule.
  check_mode();
  {
    Claim claim(*this, kServiceHolder);
    while (!claim)
      claim.retry(kServiceHolder);
    set_unchecked(stash_length_.load(std::memory_order_relaxed));
  }
  // Release: pairs with poll(), which then sees the flags.
  attention_.fetch_or(kLookAtMode | kLookAtCache, std::memory_order_release);
}

Result<void> QueuePool::set_quota(uint32_t quota) {
  if (quota < 1 || quota > arena_->nb_pages()) {
    return fail(-EINVAL, fmt::format("pool {}: quota {} is not in 1 to {}, the pages of arena {}",
                                     name_, quota, arena_->nb_pages(), arena_->name()));
  }
  quota_.store(quota, std::memory_order_relaxed);
  check_mode();
  attention_.fetch_or(kLookAtMode, std::memory_order_release);
  return {};
}

void QueuePool::start_dying() {
  // What the calling thread itself holds, as the consumer or from returns it gathered.
  leave();
  dying_.store(true, std::memory_order_relaxed);
  // Nobody flushes what a lcore gathers from now on, so each return shall be a driver call. Pairs
  // with the fence in gather_returns().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mempool_->cache_size != 0) {
    for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore)
      lcore_cache::knock(&mempool_->local_cache[lcore]);
  }
  flush_returns();
  service();
}

void QueuePool::service() {
  const unsigned lcore = rte_lcore_id();
  if (!dying()) {
    if (strict() || home_.load(std::memory_order_relaxed)->asking()) {
      tick(lcore, kServiceHolder, nullptr);
    }
    return;
  }
  Claim claim(*this, kServiceHolder);
  if (!claim) return;
  // A return that crossed the pool's end may still have gone to the ring.
  uint32_t length = stash_length_.load(std::memory_order_relaxed);
  do {
    stash_length_.store(0, std::memory_order_relaxed);
    release(stash_, length, lcore);
    length = rte_ring_sc_dequeue_burst(ring_, stash_, stash_capacity_, nullptr);
  } while (length != 0);
}

void QueuePool::free(QueuePool* pool) {
  if (rte_mempool* mempool = pool->mempool()) {
    mempool->pool_data = nullptr;  // so that the ops know that it is us
    rte_mempool_free(mempool);
  }
  pool->~QueuePool();
  rte_free(pool);
}

rte_mempool* QueuePool::lost_mempool() {
  static rte_mempool none{};
  return &none;
}

void QueuePool::empty_caches() {
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    rte_mempool_cache* cache = lcore_cache::of(mempool_, lcore);
    if (cache == nullptr) break;
    release(cache->objs, std::exchange(cache->len, 0), rte_lcore_id());
  }
}

void QueuePool::lose_mempool() {
  NEARPOOL_LOG(ERR,
               "pool %s: the program freed its mempool, which belongs to the pool; call "
               "page_pool_destroy() instead",
               name_);
  empty_caches();
  consumer_.store(kNoConsumer, std::memory_order_relaxed);
  strict_caches_ = nullptr;
  mempool_ = lost_mempool();
}

// Signed: pages returned twice bring the count below zero.
int64_t QueuePool::inflight() const {
  return static_cast<int64_t>(static_cast<int32_t>(owned_.load(std::memory_order_acquire))) -
         lcore_cache::pages_in_all(mempool_) - stash_length_.load(std::memory_order_relaxed) -
         ringed();
}

void QueuePool::read_stats(page_pool_stats* stats) const {
  *stats = {};
  std::snprintf(stats->name, sizeof(stats->name), "%s", name_);
  stats->id = id;
  stats->nid = arena_->id_of(nid());
  const uint32_t consumer = consumer_.load(std::memory_order_relaxed);
  stats->consumer = consumer == kNoConsumer ? -1 : static_cast<int>(consumer);
  stats->strict = strict();
  stats->dying = dying();
  stats->hardened = hardened_;
  stats->flags = flags();
  stats->quota = quota_.load(std::memory_order_relaxed);
  stats->ring_size = rte_ring_get_capacity(ring_);
  stats->stash_size = stash_limit_;
  stats->cache_size = cache_size_;
  stats->bulk = bulk_;

  stats->owned = owned_.load(std::memory_order_acquire);
  stats->owned_foreign = owned_foreign();
  stats->owned_pressure = owned_pressure_.load(std::memory_order_relaxed);
  stats->cached = lcore_cache::pages_in_all(mempool_);
  stats->stashed = stash_length_.load(std::memory_order_relaxed);
  stats->ringed = ringed();
  stats->inflight = static_cast<int64_t>(static_cast<int32_t>(stats->owned)) - stats->cached -
                    stats->stashed - stats->ringed;
  for (uint32_t node = 0; node < arena_->nb_nodes(); ++node) {
    stats->owned_node[arena_->id_of(node)] = owned_node_[node].load(std::memory_order_relaxed);
  }

  const auto sum = [this](Counter counter) { return counters_.sum(counter); };
  stats->alloc_slow = sum(Counter::kAllocSlow);
  stats->alloc_arena = sum(Counter::kAllocArena);
  stats->alloc_empty = sum(Counter::kAllocEmpty);
  stats->alloc_refill = sum(Counter::kAllocRefill);
  stats->alloc_waive = sum(Counter::kAllocWaive);
  stats->alloc_fallback = sum(Counter::kAllocFallback);
  stats->alloc_pressure = sum(Counter::kAllocPressure);
  stats->alloc_failed = sum(Counter::kAllocFailed);
  stats->quota_refused = sum(Counter::kQuotaRefused);
  stats->recycle_cached = sum(Counter::kRecycleCached);
  stats->recycle_ring = sum(Counter::kRecycleRing);
  stats->recycle_ring_full = sum(Counter::kRecycleRingFull);
  stats->released = sum(Counter::kReleased);
  stats->released_surplus = sum(Counter::kReleasedSurplus);
  stats->foreign_refused = sum(Counter::kForeignRefused);
  stats->pressure_refused = sum(Counter::kPressureRefused);
  stats->flushed = sum(Counter::kFlushed);
  stats->nid_updates = sum(Counter::kNidUpdates);
  stats->returns_bulk = sum(Counter::kReturnsBulk);
  stats->returns_single = sum(Counter::kReturnsSingle);
  stats->returns_unregistered = sum(Counter::kReturnsUnregistered);
  stats->takes_other = sum(Counter::kTakesOther);
  stats->takeovers = sum(Counter::kTakeovers);
  stats->misrouted = sum(Counter::kMisrouted);
  stats->misuse = sum(Counter::kMisuse);
  stats->strict_cycles = sum(Counter::kStrictCycles);
  if (strict()) {
    stats->strict_cycles += rte_get_tsc_cycles() - strict_since_.load(std::memory_order_relaxed);
  }
}

}  // namespace nearpool
