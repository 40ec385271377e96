// SPDX-License-Identifier: BSD-3-Clause
// The page pool of one RX queue.
//
// Where its pages are, from the warmest:
//   the consumer's mempool cache (lcore_cache.hpp), reached inline by drivers;
//   the stash, a LIFO behind it;
//   the return ring, into which all other lcores return, in bulk;
//   the arena, from which the pool borrows.
//
// Who touches what:
//   a lcore's cache   that lcore; the knock is the one exception;
//   stash, ring's     whoever holds the claim, a try-lock that is taken once per refill or flush,
//   taking side       never per packet; the consumer as a rule, the control thread for idle pools;
//   ring, other side  any thread;
//   owned counts      any thread, when pages come from or go to the arena.
//
// Relaxed and strict. The pool owns pages only by taking them from the arena and loses them only by
// giving them back, and counts both by node. As long as it owns no page that the keep rule would
// refuse, the rule is vacuous, and returns take the cheapest way there is: relaxed mode. Otherwise,
// in strict mode, every return is a driver call and goes through the rule, until the last such page
// has gone home. The count changes before a page is handed out and after one has come home, so no
// refusable page is ever abroad in relaxed mode.
#pragma once

#include <rte_mempool.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "error.hpp"
#include "page_arena/page_arena.hpp"
#include "page_pool.h"
#include "page_pool/checked_copy.hpp"
#include "page_pool/counters.hpp"
#include "page_pool/keep_rule.hpp"
#include "page_pool/lcore_cache.hpp"
#include "page_pool/pool_data.hpp"

namespace nearpool {

class QueuePool : public PoolData {
 public:
  static constexpr uint32_t kNoConsumer = UINT32_MAX - 1;  // and not LCORE_ID_ANY
  static constexpr uint32_t kDefaultBulk = 64;

  // ---- control thread (queue_pool_control.cc) ----
  static Result<QueuePool*> create(const page_pool_params& params, PageArena* arena);
  void set_flags(uint32_t set, uint32_t clear);
  Result<void> set_quota(uint32_t quota);
  // Stops keeping pages, and gives back all that the pool itself holds.
  void start_dying();
  bool dying() const { return dying_.load(std::memory_order_relaxed); }
  // Housekeeping for a pool nobody polls. Does not touch a consumer's cache.
  void service();
  // Frees the mempool and the pool. No page may be out and no lcore inside a call.
  static void free(QueuePool* pool);
  // Of a dying pool: no page is out, but lcores may have gathered some that they will not bring by
  // themselves, since no other comes back to them.
  bool at_rest() const { return owned() == 0 || inflight() == 0; }
  // Brings those home. No lcore may be inside a call.
  void empty_caches();
  // The program freed the mempool itself: what its caches hold goes home, and the pool waits to be
  // destroyed.
  void lose_mempool();
  uint32_t owned() const { return owned_.load(std::memory_order_acquire); }
  const char* name() const { return name_; }
  uint64_t count(Counter counter) const { return counters_.sum(counter); }
  void read_stats(page_pool_stats* stats) const;
  // Any thread. Pages out for longer; -ENOTSUP if they are not watched.
  int walk_out(uint64_t older_than_ms,
               const std::function<void(const page_pool_out&)>& visit) const;
  int64_t inflight() const;
  PageArena* arena() const { return arena_; }
  // Whether a page's header names this pool. The pool's mempool may be gone.
  bool is_owner_in(const void* header_mempool) const { return header_mempool == identity_; }
  // Null once the program has freed it.
  rte_mempool* mempool() const { return mempool_ == lost_mempool() ? nullptr : mempool_; }

  // ---- mempool ops (queue_pool.cc, queue_pool_return.cc): any thread ----
  // All n or none; a refused call has not written to `pages`. 0 or -ENOBUFS.
  int dequeue(void** pages, unsigned n);
  void enqueue(void* const* pages, unsigned n);
  // Pages the pool could still hand out by its quota.
  unsigned available() const;
  // A chunk of the arena was declared to the mempool. Returns its number of pages.
  unsigned declare_chunk(const void* address, std::size_t bytes);

  // ---- the same from another process (queue_pool_guest.cc) ----
  int dequeue_as_guest(void** pages, unsigned n);
  void enqueue_as_guest(void* const* pages, unsigned n);

  // ---- consumer (queue_pool_consumer.cc) ----
  bool nid_changed(int node) {
    const uint64_t key = poll_key(rte_lcore_id(), node);
    if (calm_key_.load(std::memory_order_relaxed) == key &&
        attention_.load(std::memory_order_relaxed) == 0 &&
        !home_.load(std::memory_order_relaxed)->asking()) [[likely]] {
      return false;
    }
    // A strict pool that has nothing to do but to stay strict.
    if (strict_key_.load(std::memory_order_relaxed) == key &&
        attention_.load(std::memory_order_relaxed) == 0 && strict() && !has_chores()) {
      return false;
    }
    return poll(node, (flags() & PAGE_POOL_F_NO_NODE_FOLLOW) == 0);
  }
  bool update_nid(int node) { return poll(node, true); }
  void leave();

  // ---- any lcore ----
  void flush_returns();

 private:
  friend struct QueuePoolProbe;  // unit tests

  static constexpr uint64_t kNeverCalm = uint64_t{1} << 63;  // no lcore id and node give this key
  static constexpr uint32_t kChunk = 64;                     // pages per step of a slow path
  static constexpr uint32_t kPagesPerTick = 256;             // bound of the work done in one poll
  static constexpr uint32_t kDrain = 1024;                   // pages taken from the ring at once
  // What of a quota may not rest in the ring; small pools have no pages to spare for it.
  static constexpr uint32_t kBusyShare = 4;
  static constexpr uint32_t kLeastResting = 768;
  static constexpr uint32_t kKeptWhenAsked = 64;  // cached pages a busy consumer keeps
  static constexpr uint32_t kClaimSpins = 256;

  QueuePool() : PoolData(PoolKind::kQueue) {}
  ~QueuePool() = default;

  // Holds the claim, or does not: then another thread is at the stash, which the contract rules out
  // for two consumers; the control thread may be there for a moment.
  class Claim {
   public:
    Claim(QueuePool& pool, uint32_t holder);
    ~Claim() { release(); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    explicit operator bool() const { return held_; }
    void retry(uint32_t holder);
    void release() {
      // Pairs with the acquire in the constructor: the next holder sees the stash as we leave it.
      if (held_) pool_.claim_.store(0, std::memory_order_release);
      held_ = false;
    }

   private:
    QueuePool& pool_;
    bool held_ = false;
  };
  // Who holds the claim; 0 is nobody.
  static constexpr uint32_t kServiceHolder = UINT32_MAX - 1;
  static constexpr uint32_t kUnregisteredHolder = UINT32_MAX;
  static uint32_t holder_of(unsigned lcore) {
    return lcore < RTE_MAX_LCORE ? lcore + 1 : kUnregisteredHolder;
  }
  static constexpr uint32_t kKeepAnything =
      PAGE_POOL_F_NO_FOREIGN_REJECT | PAGE_POOL_F_NO_PRESSURE_REJECT;
  // Why the consumer shall look.
  static constexpr uint32_t kLookAtMode = 1;
  static constexpr uint32_t kLookAtCache = 2;  // the rules changed: what is cached may not be good

  static uint64_t poll_key(unsigned lcore, int node) {
    return static_cast<uint64_t>(lcore) << 32 | static_cast<uint32_t>(node);
  }
  uint32_t flags() const { return flags_.load(std::memory_order_relaxed); }
  bool strict() const { return strict_.load(std::memory_order_relaxed); }
  uint32_t nid() const { return nid_.load(std::memory_order_relaxed); }
  uint32_t unchecked() const { return unchecked_.load(std::memory_order_relaxed); }
  void set_unchecked(uint32_t pages) { unchecked_.store(pages, std::memory_order_relaxed); }
  // One less than a bulk, so that a return of a whole bulk is not gathered first.
  uint32_t gather_limit() const {
    return hardened_ || dying() || (flags() & PAGE_POOL_F_NO_BULK_RETURN) != 0 ? 0 : bulk_ - 1;
  }

  Result<void> make_mempool(int socket);
  // Pages in the ring; approximate while others return. rte_ring_count() reads the tails plainly.
  uint32_t ringed() const {
    // Relaxed: it orders nothing.
    const uint32_t put = __atomic_load_n(&ring_->prod.tail, __ATOMIC_RELAXED);
    const uint32_t got = __atomic_load_n(&ring_->cons.tail, __ATOMIC_RELAXED);
    return std::min((put - got) & ring_->mask, ring_->capacity);
  }
  // Stands for a mempool that is gone: one without caches.
  static rte_mempool* lost_mempool();

  // queue_pool.cc
  bool fill_stash(uint32_t n, unsigned lcore, bool refill);
  uint32_t drain_ring(uint32_t most, unsigned lcore);
  void keep_order(uint32_t held, uint32_t got);
  uint32_t settle(uint32_t wanted, uint32_t budget, unsigned lcore);
  uint32_t ripe_pages(uint32_t n) const;
  bool may_grow(uint32_t n) const;
  bool pull(uint32_t n, uint32_t ready, unsigned lcore, PageArena::TakeLimits limits);
  int take_beside(void** pages, unsigned n, unsigned lcore, bool refill);
  bool take_from_arena(void** pages, uint32_t n, unsigned lcore, PageArena::TakeLimits limits);
  void adopt(void* const* pages, uint32_t n);

  // queue_pool_return.cc
  void put_as_consumer(void* const* pages, uint32_t n, unsigned lcore, rte_mempool_cache* cache);
  void put_as_other(void* const* pages, uint32_t n, unsigned lcore, rte_mempool_cache* cache);
  bool keep_if_all_local(void* const* pages, uint32_t n, rte_mempool_cache* cache);
  void keep_local(void* const* pages, uint32_t n, unsigned lcore, rte_mempool_cache* cache);
  // Whether pages have been through the keep rule as it is now.
  enum class Seen { kYes, kNo };
  uint32_t push_to_stash(void* const* pages, uint32_t n, unsigned lcore, Seen seen = Seen::kYes);
  void push_to_ring(void* const* pages, uint32_t n, unsigned lcore);
  void gather_returns(rte_mempool_cache* cache);
  template <typename Keep>
  uint32_t sift(void* const* pages, uint32_t n, unsigned lcore, const Keep& keep);
  template <typename Keep>
  uint32_t sift_each(void* const* pages, uint32_t n, unsigned lcore, const KeepRule& rule,
                     uint32_t surplus, const Keep& keep);

  // queue_pool_release.cc
  void release(void* const* pages, uint32_t n, unsigned lcore);
  uint32_t owned_on(void* page) const;
  void send_on(void* page, unsigned lcore);
  static bool worth_saying(uint64_t times);

  // Modes (queue_pool_mode.cc)
  KeepRule keep_rule() const;
  uint32_t owned_foreign() const;
  uint32_t over_quota() const;
  uint32_t to_refuse() const;
  void become_strict();
  void check_mode();
  void relax(unsigned lcore);

  // queue_pool_consumer.cc
  bool poll(int node, bool follow);
  void take_over(unsigned lcore);
  bool move_to(uint32_t node, unsigned lcore);
  void sift_cache(unsigned lcore);
  bool has_chores() const;
  void tick(unsigned lcore, uint32_t holder, rte_mempool_cache* cache);
  void give_surplus(uint32_t budget, unsigned lcore, rte_mempool_cache* cache);

  // Hardened mode (queue_pool_hardened.cc)
  void enqueue_hardened(void* const* pages, unsigned n);
  bool check_return(void* page, unsigned lcore);
  void mark_out(void* const* pages, uint32_t n);
  void report_takeover(unsigned lcore, uint32_t before);
  void stamp_out(const void* page, unsigned lcore);

  // Written at creation only.
  rte_mempool* mempool_ = nullptr;
  const void* identity_ = nullptr;  // what page headers say: mempool_, also when that is gone
  PageArena* arena_ = nullptr;
  rte_ring* ring_ = nullptr;
  void** stash_ = nullptr;
  CheckedCopy checked_copy_ = nullptr;
  uint32_t stash_capacity_ = 0;  // room for all the pool may own
  uint32_t stash_limit_ = 0;     // returned pages above it go home
  uint32_t resting_ = 0;         // returned pages to leave in the ring while there are others
  uint32_t cache_size_ = 0;
  uint32_t bulk_ = 0;
  bool hardened_ = false;
  bool leak_watch_ = false;  // only of a hardened pool
  char name_[PAGE_POOL_NAME_MAX + 1] = {};

  // Read by every return, written when the queue, the mode or an option changes.
  alignas(64) std::atomic<uint32_t> consumer_{kNoConsumer};
  std::atomic<uint32_t> nid_{0};
  std::atomic<bool> strict_{false};
  std::atomic<bool> dying_{false};
  std::atomic<uint32_t> flags_{0};
  std::atomic<uint32_t> quota_{0};
  std::atomic<uint64_t> strict_since_{0};  // TSC
  // The mempool's caches, or null if none is ever a consumer's. Written at creation.
  rte_mempool_cache* strict_caches_ = nullptr;

  // The consumer's, but for attention_, which others set to be looked at in the next poll.
  alignas(64) std::atomic<uint64_t> calm_key_{kNeverCalm};
  std::atomic<uint64_t> strict_key_{kNeverCalm};
  std::atomic<const FreeList*> home_{nullptr};  // of the nid
  std::atomic<uint32_t> attention_{0};          // kLook...

  // The claim holder's.
  alignas(64) std::atomic<uint32_t> claim_{0};
  std::atomic<uint32_t> stash_length_{0};  // atomic for readers of the books only
  // Pages at the bottom of the stash that the rule has yet to see. Atomic for a consumer that looks
  // whether there are any before it claims.
  std::atomic<uint32_t> unchecked_{0};

  // Written when pages come from or go to the arena.
  alignas(64) std::atomic<uint32_t> owned_{0};
  std::atomic<uint32_t> owned_pressure_{0};
  std::array<std::atomic<uint32_t>, kMaxNodes> owned_node_{};

  Counters counters_;
};

}  // namespace nearpool
