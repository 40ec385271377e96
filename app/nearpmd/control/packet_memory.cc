// SPDX-License-Identifier: BSD-3-Clause
#include "control/packet_memory.hpp"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>

namespace nearpool {
namespace {

uint32_t watermark(const std::optional<uint32_t>& pages) {
  if (!pages) return 0;
  return *pages == 0 ? PAGE_ARENA_NO_WATERMARK : *pages;
}

}  // namespace

uint32_t pool_flags(const PoolOptions& options) {
  uint32_t flags = 0;
  if (!options.node_follow) flags |= PAGE_POOL_F_NO_NODE_FOLLOW;
  if (!options.foreign_reject) flags |= PAGE_POOL_F_NO_FOREIGN_REJECT;
  if (!options.pressure_reject) flags |= PAGE_POOL_F_NO_PRESSURE_REJECT;
  if (!options.bulk_return) flags |= PAGE_POOL_F_NO_BULK_RETURN;
  if (options.hardened) flags |= PAGE_POOL_F_HARDENED;
  if (options.leak_seconds != 0) flags |= PAGE_POOL_F_LEAK_WATCH;
  return flags;
}

QueueBuffers::~QueueBuffers() {
  if (pool_ != nullptr) {
    page_pool_destroy(pool_);
  } else {
    // A stock mempool knows no dying: memory that frames may still lie in is left alone.
    if (rte_mempool_full(mempool_) != 0) rte_mempool_free(mempool_);
  }
}

PoolBooks QueueBuffers::books() const {
  PoolBooks books;
  if (pool_ == nullptr) {
    const unsigned available = rte_mempool_avail_count(mempool_);
    books.name = mempool_->name;
    books.owned = mempool_->size;
    books.ringed = available;
    books.inflight = books.owned - available;
    return books;
  }
  page_pool_stats stats;
  page_pool_get_stats(pool_, &stats);
  books.name = stats.name;
  books.owned = stats.owned;
  books.cached = stats.cached;
  books.stashed = stats.stashed;
  books.ringed = stats.ringed;
  books.inflight = stats.inflight;
  return books;
}

Result<std::unique_ptr<PacketMemory>> PacketMemory::create(const Options& options,
                                                           const Sizing& sizing,
                                                           const std::vector<int>& nodes) {
  std::unique_ptr<PacketMemory> memory(new PacketMemory(options, sizing));
  memory->pages_ =
      options.arena.total_num_pages != 0 ? options.arena.total_num_pages : sizing.arena;
  if (memory->pages_ < options.burst) {
    return failure(
        "--total-num-pages {} is less than one burst of {} frames: {} pages per node are needed so "
        "that none is lost, and {} at the very least",
        memory->pages_, options.burst, sizing.total, options.burst);
  }
  if (options.pool.ops == "page_pool") {
    if (auto status = memory->create_arena(nodes); !status) {
      return tl::unexpected(status.error());
    }
  }
  return memory;
}

Status PacketMemory::create_arena(const std::vector<int>& nodes) {
  std::vector<page_arena_node> wanted;
  for (const int node : nodes)
    wanted.push_back({node, pages_});
  page_arena_params params{};
  params.name = "nearpmd";
  params.data_room = static_cast<uint16_t>(options_.arena.mbuf_size);
  params.nodes = wanted.data();
  params.nb_nodes = static_cast<uint32_t>(wanted.size());
  params.min_pages = watermark(options_.arena.min_pages);
  params.low_pages = watermark(options_.arena.low_pages);
  params.high_pages = watermark(options_.arena.high_pages);
  if (options_.arena.no_huge) params.flags |= PAGE_ARENA_F_NO_HUGE;
  if (options_.arena.lenient) params.flags |= PAGE_ARENA_F_LENIENT;
  if (page_arena_create(&params, &arena_) != 0) {
    return failure("the page arena cannot be created: {}", page_pool_error());
  }
  return {};
}

PacketMemory::~PacketMemory() {
  release();
}

bool PacketMemory::release() {
  if (arena_ == nullptr) return true;
  if (page_arena_destroy(arena_) != 0) return false;
  arena_ = nullptr;
  return true;
}

uint64_t PacketMemory::free_pages() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; arena_ != nullptr && i < page_arena_nb_nodes(arena_); i++) {
    page_arena_stats stats;
    if (page_arena_get_stats(arena_, i, &stats) == 0) sum += stats.free;
  }
  return sum;
}

uint64_t PacketMemory::data_bytes() const {
  if (arena_ == nullptr) return 0;
  return uint64_t{pages_} * page_arena_nb_nodes(arena_) * options_.arena.mbuf_size;
}

uint32_t PacketMemory::quota() const {
  const uint32_t quota =
      options_.pool.quota != 0 ? options_.pool.quota : default_quota(sizing_, pages_);
  if (arena_ == nullptr) return quota;
  return static_cast<uint32_t>(
      std::min<uint64_t>(quota, uint64_t{pages_} * page_arena_nb_nodes(arena_)));
}

uint32_t PacketMemory::frame_room() const {
  return options_.arena.mbuf_size - RTE_PKTMBUF_HEADROOM;
}

Result<std::unique_ptr<QueueBuffers>> PacketMemory::make(const std::string& name, int node) {
  if (arena_ == nullptr) return make_stock(name, node);
  std::string unique = name;
  page_pool_params params{};
  params.arena = arena_;
  params.node = node < 0 ? PAGE_POOL_ANY_NODE : node;
  params.quota = quota();
  params.ring_size = options_.pool.ring;
  params.cache_size = std::min(options_.pool.cache, params.quota);
  params.bulk = options_.pool.bulk;
  params.flags = pool_flags(options_.pool);
  for (;;) {
    params.name = unique.c_str();
    page_pool* pool = nullptr;
    const int error = page_pool_create(&params, &pool);
    if (error == 0) {
      return std::unique_ptr<QueueBuffers>(new QueueBuffers(pool, page_pool_mempool(pool)));
    }
    if (error != -EEXIST) return failure("pool {}: {}", name, page_pool_error());
    unique = fmt::format("{}.{}", name, ++generation_);
  }
}

Result<std::unique_ptr<QueueBuffers>> PacketMemory::make_stock(const std::string& name, int node) {
  const uint32_t size =
      options_.arena.total_num_pages != 0 ? options_.arena.total_num_pages : sizing_.queue;
  // The library takes a cache of at most two thirds of the pool.
  const uint32_t cache = std::min<uint32_t>(options_.pool.cache, size * 2 / 3);
  const std::string unique = generation_ == 0 ? name : fmt::format("{}.{}", name, generation_);
  rte_mempool* pool = rte_pktmbuf_pool_create_by_ops(
      unique.c_str(), size, cache, 0, static_cast<uint16_t>(options_.arena.mbuf_size),
      socket_of(node), options_.pool.ops.c_str());
  if (pool == nullptr && rte_errno == EEXIST) {
    generation_++;
    return make_stock(name, node);
  }
  if (pool == nullptr) {
    return failure(
        "stock mempool {} of {} buffers, ops {}: {}; see that the ops name is one DPDK knows, and "
        "that hugepage memory suffices",
        name, size, options_.pool.ops, rte_strerror(rte_errno));
  }
  return std::unique_ptr<QueueBuffers>(new QueueBuffers(nullptr, pool));
}

Status PacketMemory::map_for(rte_device* device) {
  if (arena_ == nullptr) return {};
  if (mapped_.count(device) == 0 && page_arena_dma_map(arena_, device) != 0) {
    return failure("device {} cannot reach the page arena: {}", rte_dev_name(device),
                   page_pool_error());
  }
  mapped_[device]++;
  return {};
}

void PacketMemory::unmap_for(rte_device* device) {
  if (arena_ == nullptr || --mapped_.at(device) != 0) return;
  mapped_.erase(device);
  page_arena_dma_unmap(arena_, device);
}

}  // namespace nearpool
