// SPDX-License-Identifier: BSD-3-Clause
// The arena: the pages of all nodes for one page layout, and where each page lies by its address.
//
// An arena is plain data in memory that the EAL shares between processes. It is filled on the
// control path, chunk by chunk, and its chunks never change once a pool uses it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "error.hpp"
#include "numa/topology.hpp"
#include "page_arena/free_list.hpp"

namespace nearpool {

inline constexpr unsigned kMaxNodes = 32;  // RTE_MAX_NUMA_NODES of Debian's DPDK

// Sizes of one page in bytes, as rte_mempool_calc_obj_size() reports them.
struct PageLayout {
  uint32_t header = 0;   // object header, before the mbuf
  uint32_t element = 0;  // rte_mbuf, private area, headroom, data room
  uint32_t trailer = 0;
  uint32_t total() const { return header + element + trailer; }
};

// [lo, hi) in bytes. Whether all of n addresses are inside is one OR reduction over them, with no
// branch and no look at what they point to: both differences are below 2^63 only for an address
// inside. The empty range holds nothing.
struct AddressRange {
  uintptr_t lo = 0;
  uintptr_t hi = 0;

  bool holds_all(void* const* pages, unsigned n) const {
    uintptr_t outside = 0;
    for (unsigned i = 0; i < n; ++i)
      outside |= misses(pages[i]);
    return static_cast<intptr_t>(outside) >= 0;
  }
  bool holds(const void* page) const { return static_cast<intptr_t>(misses(page)) >= 0; }
  // The highest bit of this says that the page is outside; OR it over many to ask for all.
  uintptr_t misses(const void* page) const {
    const auto address = reinterpret_cast<uintptr_t>(page);
    return (address - lo) | (hi - 1 - address);
  }
};

// What is known of a page, kept outside of it: pages are handed to devices and programs.
enum PageMark : uint8_t {
  kIsPage = 1,    // a page starts at this address
  kPressure = 2,  // taken under pressure and not home yet
  kOut = 4,       // handed out (hardened mode only)
};

// A piece of the arena that is contiguous for a device.
struct IovaChunk {
  char* address;
  uint64_t iova;  // or RTE_BAD_IOVA
  std::size_t bytes;
};

// A run of pages on one node.
struct Chunk {
  AddressRange range;
  uint32_t node = 0;  // index into the arena's nodes
  // One mark per kMarkGrain bytes of the chunk, so that no division is needed. May be null.
  std::atomic<uint8_t>* marks = nullptr;
};

class PageArena {
 public:
  static constexpr unsigned kMarkGrain = 64;  // pages are aligned to cache lines
  static constexpr unsigned kNoNode = UINT32_MAX;
  // Pages never cross a boundary of this many bytes, the smallest hugepage, so that each page is
  // contiguous for a device whatever the IOVA mode.
  static constexpr std::size_t kBlockBytes = std::size_t{2} << 20;

  struct NodeCapacity {
    int node;        // id
    uint32_t pages;  // most pages it will hold
  };

  // Makes an arena without pages, in memory that the EAL shares. The order of fallback, and the
  // node that stands for one the arena does not have, follow the distances of `topology`.
  static Result<PageArena*> create(const char* name, const PageLayout& layout,
                                   std::span<const NodeCapacity> nodes, Watermarks marks,
                                   const numa::Topology& topology);
  static void destroy(PageArena* arena);

  // What pools of a shared arena need to know to make mempools of it; in ascending order.
  Result<void> describe(uint16_t data_room, uint16_t priv_size, std::span<const IovaChunk> chunks);
  uint16_t data_room() const { return data_room_; }
  uint16_t priv_size() const { return priv_size_; }
  std::span<const IovaChunk> iova_chunks() const { return {iova_chunks_, nb_iova_chunks_}; }

  // Adds a chunk; its pages follow with add_page(). Control path, before the arena is used.
  Result<void> add_chunk(uint32_t node, std::byte* lo, std::byte* hi, bool with_marks);
  // Puts one page of a chunk added before into its node's free list.
  void add_page(void* page);

  // ---- any thread ----

  struct TakeLimits {
    bool reserve;   // may go below min
    bool fallback;  // may take from other nodes
  };
  struct Taken {
    uint32_t pages = 0;
    uint32_t fallback = 0;  // of these, from other nodes than asked
    uint32_t pressure = 0;  // of these, under pressure
    std::array<uint32_t, kMaxNodes> by_node{};
  };
  // Takes n pages, from `node` first, then by distance; or none, and then nothing is written.
  Taken take(uint32_t node, void** pages, uint32_t n, TakeLimits limits);
  // Gives back pages that are all on `node`. Returns how many were pressure pages. A page that does
  // not fit was returned twice: it is reported and not taken in.
  uint32_t give(uint32_t node, void* const* pages, uint32_t n);

  // Index of the node a page lies on, or kNoNode: no address of this arena.
  uint32_t node_of(const void* page) const {
    const Chunk* chunk = chunk_of(page);
    return chunk == nullptr ? kNoNode : chunk->node;
  }
  const Chunk* chunk_of(const void* page) const;
  // The mark of a page, or null where the arena keeps none or the address is not in it.
  std::atomic<uint8_t>* mark_of(const void* page) const;
  // Whether a page starts there. Touches no memory of the page. For arenas that keep marks.
  bool is_page(const void* page) const {
    const std::atomic<uint8_t>* mark = mark_of(page);
    return mark != nullptr && reinterpret_cast<uintptr_t>(page) % kMarkGrain == 0 &&
           (mark->load(std::memory_order_relaxed) & kIsPage) != 0;
  }
  bool is_pressure(const void* page) const {
    const std::atomic<uint8_t>* mark = mark_of(page);
    return mark != nullptr && (mark->load(std::memory_order_relaxed) & kPressure) != 0;
  }

  // One word for each page, for whatever a pool wants to remember of it; zero at first. Control
  // path; a second call changes nothing.
  Result<void> keep_stamps();
  // Of a page of this arena, after keep_stamps().
  std::atomic<uint64_t>* stamp_of(const void* page) const {
    return &stamps_[(reinterpret_cast<uintptr_t>(page) - stamps_lo_) >> stamp_shift_];
  }
  std::span<std::atomic<uint64_t>> stamps() const { return {stamps_, nb_stamps_}; }
  // The page that a stamp is of, or null: no page begins there.
  const void* page_of_stamp(const std::atomic<uint64_t>& stamp) const;

  // Index of the node to use for a node id: its own, or that of the nearest node of the arena.
  uint32_t index_of(int node_id) const { return index_of_id_[static_cast<unsigned>(node_id)]; }
  int id_of(uint32_t node) const { return nodes_[node].id; }
  uint32_t nb_nodes() const { return nb_nodes_; }
  uint32_t nb_pages() const { return nb_pages_; }
  uint32_t pages_of(uint32_t node) const {
    return nodes_[node].pages.load(std::memory_order_relaxed);
  }
  // Addresses that are surely on the node; empty if chunks of several nodes are interleaved.
  const AddressRange& range_of(uint32_t node) const { return nodes_[node].range; }
  const FreeList& free_list(uint32_t node) const { return nodes_[node].free; }
  FreeList& free_list(uint32_t node) { return nodes_[node].free; }
  const PageLayout& layout() const { return layout_; }
  const char* name() const { return name_; }
  std::span<const Chunk> chunks() const { return {chunks_, nb_chunks_}; }
  uint64_t pressure_taken(uint32_t node) const {
    return nodes_[node].pressure_taken.load(std::memory_order_relaxed);
  }
  uint64_t fallback_taken(uint32_t node) const {
    return nodes_[node].fallback_taken.load(std::memory_order_relaxed);
  }
  uint32_t pressure_out(uint32_t node) const {
    return nodes_[node].pressure_out.load(std::memory_order_relaxed);
  }

 private:
  struct Node {
    int id = 0;
    // Atomic for the watcher of shared pools, which may look while a pool is still being filled.
    std::atomic<uint32_t> pages{0};
    AddressRange range;
    FreeList free;
    uint8_t fallback[kMaxNodes] = {};  // indices by distance, the node itself first
    // Only written when a page is taken under pressure or for another node, both rare.
    alignas(64) std::atomic<uint64_t> pressure_taken{0};
    std::atomic<uint64_t> fallback_taken{0};
    std::atomic<uint32_t> pressure_out{0};
  };

  PageArena() = default;
  void order_nodes(const numa::Topology& topology);
  void set_ranges();
  void account(Taken& taken, uint32_t node, uint32_t from, void* const* pages, FreeList::Taken got);

  char name_[32] = {};
  PageLayout layout_;
  uint32_t nb_nodes_ = 0;
  uint32_t nb_pages_ = 0;
  uint32_t nb_chunks_ = 0;
  Chunk* chunks_ = nullptr;  // by address
  IovaChunk* iova_chunks_ = nullptr;
  uint32_t nb_iova_chunks_ = 0;
  std::atomic<uint64_t>* stamps_ = nullptr;
  std::size_t nb_stamps_ = 0;
  uintptr_t stamps_lo_ = 0;
  unsigned stamp_shift_ = 0;  // as many bytes as a page has at least
  uint16_t data_room_ = 0;
  uint16_t priv_size_ = 0;
  uint32_t index_of_id_[kMaxNodes] = {};
  Node nodes_[kMaxNodes];
};

}  // namespace nearpool
