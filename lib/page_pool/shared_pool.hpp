// SPDX-License-Identifier: BSD-3-Clause
// A mempool that a program made without knowing of us: one for many lcores, which take from it and
// return to it without ever calling nid_changed().
//
// Its pages are its own (an arena of EAL memzones on the nodes of the program's lcores), all of
// them on the mempool's object list, since the program initialises what is on that list. Behind the
// lcores' caches stand the arena's free lists, one per node. Each lcore that takes is a consumer
// with its own nid; a lcore that only returns gathers a bulk in its cache.
//
// Mode. While every page outside its node's list is on one node, and all consumers follow that
// node, there is nothing to refuse: the mode is that node, and caches work as rte_mempool's do.
// Otherwise it is kMixed, and each put of a consumer is a driver call that keeps only pages of its
// nid. A taker that brings a second node in sets kMixed and knocks on all caches before it hands
// the pages out. The watcher (shared_watcher.cc) sets the way back, and knocks on consumers ten
// times a second so that a steady loop, which makes no driver calls, notices that its lcore moved.
#pragma once

#include <rte_mempool.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "error.hpp"
#include "page_arena/page_arena.hpp"
#include "page_pool/counters.hpp"
#include "page_pool/lcore_cache.hpp"
#include "page_pool/pool_data.hpp"
#include "page_pool/shared_options.hpp"

namespace nearpool {

class SharedPool : public PoolData {
 public:
  static constexpr uint32_t kMixed = UINT32_MAX;

  // Control path: mempool ops alloc and free.
  static Result<SharedPool*> create(rte_mempool* mempool, const SharedOptions& options);
  static void destroy(SharedPool* pool);

  // Control path: where the memory for the next objects shall come from.
  ssize_t memory_size(uint32_t objects, uint32_t page_shift, std::size_t* min_chunk,
                      std::size_t* align);
  int populate(unsigned most, void* address, rte_iova_t iova, std::size_t bytes,
               rte_mempool_populate_obj_cb_t* callback, void* argument);

  // Any thread. All n or none; a refused call has not written to `pages`.
  int dequeue(void** pages, unsigned n);
  void enqueue(void* const* pages, unsigned n);
  unsigned available() const;

  // The watcher, ten times a second.
  void knock_and_settle();
  bool has_several_nodes() const { return arena_->nb_nodes() > 1; }
  const PageArena& arena() const { return *arena_; }
  const rte_mempool& mempool() const { return *mempool_; }
  uint32_t bulk() const { return bulk_; }
  bool hardened() const { return hardened_; }
  uint32_t mode() const { return mode_.load(std::memory_order_relaxed); }
  uint64_t count(Counter counter) const { return counters_.sum(counter); }

 private:
  static constexpr uint32_t kChunk = 64;

  // Written by its own lcore; the watcher reads.
  struct alignas(64) Lcore {
    std::atomic<uint32_t> nid{0};
    std::atomic<bool> serving{false};  // takes pages, and keeps some in its cache
    uint64_t taken = 0;
  };
  // Control path only.
  struct Share {
    uint32_t wanted = 0;
    uint32_t populated = 0;
  };

  SharedPool(rte_mempool* mempool, const SharedOptions& options);
  ~SharedPool() = default;
  Result<void> plan();
  uint32_t next_share() const;

  bool may_serve(const Lcore& state) const;
  uint32_t follow(unsigned lcore, rte_mempool_cache* cache);
  void keep(void* const* pages, uint32_t n, unsigned lcore, rte_mempool_cache* cache, bool own);
  void open_or_close(uint32_t node, rte_mempool_cache* cache);
  void become_mixed();
  bool only_on(uint32_t node) const;
  void give(void* const* pages, uint32_t n);
  void mark_out(void* const* pages, uint32_t n);
  void enqueue_checked(void* const* pages, unsigned n);

  rte_mempool* mempool_;
  PageArena* arena_ = nullptr;
  uint32_t bulk_;
  bool hardened_;
  bool refuse_foreign_;
  bool populating_ = false;
  int socket_;  // as the program asked
  std::array<Share, kMaxNodes> shares_{};

  alignas(64) std::atomic<uint32_t> mode_{0};
  std::array<Lcore, RTE_MAX_LCORE> lcores_{};
  Counters counters_;
};

}  // namespace nearpool
