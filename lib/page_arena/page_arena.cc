// SPDX-License-Identifier: BSD-3-Clause
#include "page_arena/page_arena.hpp"

#include <fmt/format.h>
#include <rte_malloc.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

#include "page_arena/log.hpp"

namespace nearpool {

Result<PageArena*> PageArena::create(const char* name, const PageLayout& layout,
                                     std::span<const NodeCapacity> nodes, Watermarks marks,
                                     const numa::Topology& topology) {
  if (nodes.empty() || nodes.size() > kMaxNodes) {
    return fail(-EINVAL, fmt::format("arena {}: {} nodes asked for, 1 to {} are allowed", name,
                                     nodes.size(), kMaxNodes));
  }
  void* memory = rte_zmalloc("page_arena", sizeof(PageArena), alignof(PageArena));
  if (memory == nullptr) {
    return fail(-ENOMEM, fmt::format("arena {}: no EAL memory for its descriptor ({} bytes); give "
                                     "the EAL more with -m or --socket-mem",
                                     name, sizeof(PageArena)));
  }
  auto* arena = new (memory) PageArena;
  std::snprintf(arena->name_, sizeof(arena->name_), "%s", name);
  arena->layout_ = layout;
  for (const NodeCapacity& capacity : nodes) {
    Node& node = arena->nodes_[arena->nb_nodes_++];
    node.id = capacity.node;
    const std::size_t bytes = sizeof(void*) * capacity.pages;
    auto* slots = static_cast<void**>(rte_malloc("page_free_list", bytes, 64));
    if (slots == nullptr) {
      destroy(arena);
      return fail(-ENOMEM, fmt::format("arena {}: no EAL memory for the free list of node {} ({} "
                                       "bytes); give the EAL more with -m or --socket-mem",
                                       name, capacity.node, bytes));
    }
    node.free.init(slots, capacity.pages, marks);
  }
  arena->order_nodes(topology);
  return arena;
}

void PageArena::destroy(PageArena* arena) {
  if (arena == nullptr) return;
  for (uint32_t i = 0; i < arena->nb_chunks_; ++i)
    rte_free(arena->chunks_[i].marks);
  rte_free(arena->chunks_);
  rte_free(arena->iova_chunks_);
  rte_free(arena->stamps_);
  for (Node& node : std::span(arena->nodes_, arena->nb_nodes_))
    rte_free(node.free.slots());
  arena->~PageArena();
  rte_free(arena);
}

Result<void> PageArena::describe(uint16_t data_room, uint16_t priv_size,
                                 std::span<const IovaChunk> chunks) {
  iova_chunks_ = static_cast<IovaChunk*>(rte_malloc("page_iova_chunks", chunks.size_bytes(), 0));
  if (iova_chunks_ == nullptr) {
    return fail(-ENOMEM, fmt::format("arena {}: no EAL memory for a table of {} chunks; give the "
                                     "EAL more with -m or --socket-mem",
                                     name_, chunks.size()));
  }
  std::copy(chunks.begin(), chunks.end(), iova_chunks_);
  nb_iova_chunks_ = static_cast<uint32_t>(chunks.size());
  data_room_ = data_room;
  priv_size_ = priv_size;
  return {};
}

void PageArena::order_nodes(const numa::Topology& topology) {
  for (uint32_t i = 0; i < nb_nodes_; ++i) {
    uint8_t* order = nodes_[i].fallback;
    for (uint32_t j = 0; j < nb_nodes_; ++j)
      order[j] = static_cast<uint8_t>(j);
    const auto farther = [&](uint8_t a, uint8_t b) {
      const int far_a = a == i ? -1 : topology.distance(nodes_[i].id, nodes_[a].id);
      const int far_b = b == i ? -1 : topology.distance(nodes_[i].id, nodes_[b].id);
      return far_a != far_b ? far_a < far_b : nodes_[a].id < nodes_[b].id;
    };
    std::sort(order, order + nb_nodes_, farther);
  }
  // The node that stands for one the arena does not have: the nearest, of equals the lowest id.
  for (unsigned id = 0; id < kMaxNodes; ++id) {
    const auto farness = [&](uint32_t i) {
      const int own = nodes_[i].id;
      const bool same = own == static_cast<int>(id);
      return std::pair(same ? -1 : topology.distance(static_cast<int>(id), own), own);
    };
    uint32_t nearest = 0;
    for (uint32_t i = 1; i < nb_nodes_; ++i) {
      if (farness(i) < farness(nearest)) nearest = i;
    }
    index_of_id_[id] = nearest;
  }
}

Result<void> PageArena::add_chunk(uint32_t node, std::byte* lo, std::byte* hi, bool with_marks) {
  auto* chunks =
      static_cast<Chunk*>(rte_realloc(chunks_, sizeof(Chunk) * (nb_chunks_ + 1), alignof(Chunk)));
  if (chunks == nullptr) {
    return fail(-ENOMEM, fmt::format("arena {}: no EAL memory for a table of {} chunks; give the "
                                     "EAL more with -m or --socket-mem",
                                     name_, nb_chunks_ + 1));
  }
  chunks_ = chunks;
  Chunk chunk;
  chunk.range = {reinterpret_cast<uintptr_t>(lo), reinterpret_cast<uintptr_t>(hi)};
  chunk.node = node;
  if (with_marks) {
    const std::size_t marks = (chunk.range.hi - chunk.range.lo) / kMarkGrain + 1;
    chunk.marks = static_cast<std::atomic<uint8_t>*>(rte_zmalloc("page_marks", marks, 64));
    if (chunk.marks == nullptr) {
      return fail(-ENOMEM, fmt::format("arena {}: no EAL memory for its page marks ({} bytes); "
                                       "give the EAL more with -m or --socket-mem",
                                       name_, marks));
    }
  }
  uint32_t place = nb_chunks_++;
  for (; place > 0 && chunks_[place - 1].range.lo > chunk.range.lo; --place) {
    chunks_[place] = chunks_[place - 1];
  }
  chunks_[place] = chunk;
  set_ranges();
  return {};
}

// A node's range is the hull of its chunks, unless a chunk of another node lies inside: the range
// is then empty, and every page of the node is looked up.
void PageArena::set_ranges() {
  for (uint32_t i = 0; i < nb_nodes_; ++i) {
    AddressRange hull;
    for (const Chunk& chunk : chunks()) {
      if (chunk.node != i) continue;
      if (hull.hi == 0) hull.lo = chunk.range.lo;
      hull.hi = chunk.range.hi;
    }
    for (const Chunk& chunk : chunks()) {
      if (chunk.node != i && chunk.range.lo < hull.hi && chunk.range.hi > hull.lo) hull = {};
    }
    nodes_[i].range = hull;
  }
}

Result<void> PageArena::keep_stamps() {
  if (stamps_ != nullptr || nb_chunks_ == 0) return {};
  // Two pages never begin within so many bytes of each other.
  stamp_shift_ = static_cast<unsigned>(std::bit_width(layout_.total())) - 1;
  stamps_lo_ = chunks_[0].range.lo;
  nb_stamps_ = ((chunks_[nb_chunks_ - 1].range.hi - stamps_lo_) >> stamp_shift_) + 1;
  const std::size_t bytes = nb_stamps_ * sizeof(*stamps_);
  stamps_ = static_cast<std::atomic<uint64_t>*>(rte_zmalloc("page_stamps", bytes, 64));
  if (stamps_ != nullptr) return {};
  nb_stamps_ = 0;
  return fail(-ENOMEM, fmt::format("arena {}: no EAL memory to remember of each page since when it "
                                   "is out ({} bytes); give the EAL more with -m or --socket-mem",
                                   name_, bytes));
}

const void* PageArena::page_of_stamp(const std::atomic<uint64_t>& stamp) const {
  const auto index = static_cast<std::size_t>(&stamp - stamps_);
  const uintptr_t step = uintptr_t{1} << stamp_shift_;
  // Cells are cut from stamps_lo_ on, which is aligned to more than a page.
  const uintptr_t cell = stamps_lo_ + index * step;
  for (uintptr_t at = cell; at < cell + step; at += kMarkGrain) {
    const void* page = reinterpret_cast<const void*>(at);
    if (is_page(page)) return page;
  }
  return nullptr;
}

void PageArena::add_page(void* page) {
  const uint32_t node = node_of(page);
  if (std::atomic<uint8_t>* mark = mark_of(page)) mark->store(kIsPage, std::memory_order_relaxed);
  nodes_[node].pages.fetch_add(1, std::memory_order_relaxed);
  ++nb_pages_;
  give(node, &page, 1);
}

const Chunk* PageArena::chunk_of(const void* page) const {
  const auto address = reinterpret_cast<uintptr_t>(page);
  uint32_t first = 0;
  for (uint32_t count = nb_chunks_; count > 0;) {
    const uint32_t half = count / 2;
    if (chunks_[first + half].range.hi <= address) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first < nb_chunks_ && chunks_[first].range.holds(page) ? &chunks_[first] : nullptr;
}

std::atomic<uint8_t>* PageArena::mark_of(const void* page) const {
  const Chunk* chunk = chunk_of(page);
  if (chunk == nullptr || chunk->marks == nullptr) return nullptr;
  return &chunk->marks[(reinterpret_cast<uintptr_t>(page) - chunk->range.lo) / kMarkGrain];
}

PageArena::Taken PageArena::take(uint32_t node, void** pages, uint32_t n, TakeLimits limits) {
  Taken taken;
  // As a rule the node has them all.
  const FreeList::Taken near = nodes_[node].free.take(pages, n, limits.reserve);
  if (near.pages == n) {
    account(taken, node, node, pages, near);
    return taken;
  }
  if (!limits.fallback || nb_nodes_ == 1) return taken;
  // Locked all at once, so that what is there stays there until it is taken; in the order of their
  // indices, so that two threads never wait for each other.
  const std::span<Node> all(nodes_, nb_nodes_);
  uint64_t ready = 0;
  for (Node& source : all) {
    source.free.lock();
    ready += source.free.ready(limits.reserve);
  }
  std::array<FreeList::Taken, kMaxNodes> got{};
  for (uint32_t i = 0, left = ready < n ? 0 : n; left != 0; ++i) {
    got[i] =
        nodes_[nodes_[node].fallback[i]].free.take_locked(pages + (n - left), left, limits.reserve);
    left -= got[i].pages;
  }
  for (Node& source : all)
    source.free.unlock();
  for (uint32_t i = 0; i < nb_nodes_ && taken.pages < n; ++i)
    account(taken, node, nodes_[node].fallback[i], pages + taken.pages, got[i]);
  return taken;
}

// Notes pages just taken from a node's list for a pool of `node`.
void PageArena::account(Taken& taken, uint32_t node, uint32_t from, void* const* pages,
                        FreeList::Taken got) {
  Node& source = nodes_[from];
  taken.pages += got.pages;
  taken.by_node[from] = got.pages;
  if (from != node && got.pages != 0) {
    taken.fallback += got.pages;
    source.fallback_taken.fetch_add(got.pages, std::memory_order_relaxed);
  }
  if (got.pressure == 0) return;
  taken.pressure += got.pressure;
  source.pressure_taken.fetch_add(got.pressure, std::memory_order_relaxed);
  source.pressure_out.fetch_add(got.pressure, std::memory_order_relaxed);
  for (uint32_t p = got.pages - got.pressure; p < got.pages; ++p) {
    // Whoever returns the page got it from us through the program, which ordered this store.
    if (auto* mark = mark_of(pages[p])) mark->fetch_or(kPressure, std::memory_order_relaxed);
  }
}

uint32_t PageArena::give(uint32_t node, void* const* pages, uint32_t n) {
  Node& home = nodes_[node];
  uint32_t pressure = 0;
  if (home.pressure_out.load(std::memory_order_relaxed) != 0) {
    for (uint32_t i = 0; i < n; ++i) {
      std::atomic<uint8_t>* mark = mark_of(pages[i]);
      if (mark == nullptr || (mark->load(std::memory_order_relaxed) & kPressure) == 0) continue;
      mark->fetch_and(static_cast<uint8_t>(~kPressure), std::memory_order_relaxed);
      ++pressure;
    }
    if (pressure != 0) home.pressure_out.fetch_sub(pressure, std::memory_order_relaxed);
  }
  if (!home.free.give(pages, n)) {
    NEARPOOL_LOG(ERR,
                 "arena %s: %u pages came home to node %d, which has no room for them: pages were "
                 "returned twice; create the pool hardened to find out by whom",
                 name_, n, home.id);
  }
  return pressure;
}

}  // namespace nearpool
