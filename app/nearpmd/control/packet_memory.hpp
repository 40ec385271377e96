// SPDX-License-Identifier: BSD-3-Clause
// Where the buffers of RX queues come from: a page pool per queue over one arena, or, as the
// 'before' column of measurements, a stock mempool per queue. The rest of the program sees a
// mempool and, where there is one, the page pool behind it.
#pragma once

#include <page_pool.h>
#include <rte_memory.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "control/sizing.hpp"

struct rte_device;
struct rte_mempool;

namespace nearpool {

// Where the EAL shall take memory for a node: an emulated one has none, nor one that is not known.
inline int socket_of(int node) {
  return node < 0 || page_pool_nodes_emulated() ? SOCKET_ID_ANY : node;
}

// Pages of one pool, as they stand; exact while workers stand still.
struct PoolBooks {
  std::string name;
  int64_t owned = 0;
  int64_t cached = 0;
  int64_t stashed = 0;
  int64_t ringed = 0;
  int64_t inflight = 0;
  bool balanced() const { return owned == cached + stashed + ringed + inflight; }
};

class PacketMemory;

// Buffers of one RX queue. Destroy it only after the queue is closed and its poller has left.
class QueueBuffers {
 public:
  ~QueueBuffers();
  QueueBuffers(const QueueBuffers&) = delete;
  QueueBuffers& operator=(const QueueBuffers&) = delete;

  rte_mempool* mempool() const { return mempool_; }
  page_pool* pool() const { return pool_; }  // null: a stock mempool
  PoolBooks books() const;

 private:
  friend class PacketMemory;
  QueueBuffers(page_pool* pool, rte_mempool* mempool) : pool_(pool), mempool_(mempool) {}
  page_pool* const pool_;
  rte_mempool* const mempool_;
};

class PacketMemory {
 public:
  // @param nodes  the nodes that lcores and ports are on, each once
  static Result<std::unique_ptr<PacketMemory>> create(const Options& options, const Sizing& sizing,
                                                      const std::vector<int>& nodes);
  ~PacketMemory();
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  // @param name  at most 24 characters; a suffix is added if a dying pool still has it
  // @param node  of the lcore that will poll, or of the port
  Result<std::unique_ptr<QueueBuffers>> make(const std::string& name, int node);

  page_arena* arena() const { return arena_; }  // null: stock mempools
  void set_pool_options(const PoolOptions& options) { options_.pool = options; }
  uint32_t pages_per_node() const { return pages_; }
  // Free pages of all nodes; 0 with stock mempools.
  uint64_t free_pages() const;
  // Of all buffers of the arena, without their headers; 0 with stock mempools.
  uint64_t data_bytes() const;
  // Most pages that the pool of a queue may own.
  uint32_t quota() const;
  // Frames up to this long, CRC not included, fit one page.
  uint32_t frame_room() const;

  // Once for each port of a device, which may have several.
  Status map_for(rte_device* device);
  void unmap_for(rte_device* device);

  // Frees the arena; false if pools still hold pages, which then stay.
  bool release();

 private:
  PacketMemory(const Options& options, const Sizing& sizing) : options_(options), sizing_(sizing) {}
  Status create_arena(const std::vector<int>& nodes);
  Result<std::unique_ptr<QueueBuffers>> make_stock(const std::string& name, int node);

  Options options_;
  const Sizing sizing_;
  uint32_t pages_ = 0;
  page_arena* arena_ = nullptr;
  uint32_t generation_ = 0;
  std::map<rte_device*, unsigned> mapped_;  // to the number of ports
};

// PAGE_POOL_F_* of the options.
uint32_t pool_flags(const PoolOptions& options);

}  // namespace nearpool
