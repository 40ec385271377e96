// SPDX-License-Identifier: BSD-3-Clause
#include "page_arena/arena_handle.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

namespace nearpool {

namespace {

constexpr std::size_t kLongestName = 24;

Result<PageLayout> check(const ArenaRequest& request, const numa::Topology& topology) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (request.name.empty() || request.name.size() > kLongestName ||
      !std::all_of(request.name.begin(), request.name.end(), good)) {
    return fail(-EINVAL, fmt::format("arena name '{}' is not 1 to {} letters, digits, '_' or '-'",
                                     request.name, kLongestName));
  }
  if (request.data_room < RTE_PKTMBUF_HEADROOM) {
    return fail(-EINVAL, fmt::format("arena {}: data room {} is not in {} (the headroom) to 65535",
                                     request.name, request.data_room, RTE_PKTMBUF_HEADROOM));
  }
  if (request.priv_size % RTE_MBUF_PRIV_ALIGN != 0) {
    return fail(-EINVAL, fmt::format("arena {}: private size {} is no multiple of {}", request.name,
                                     request.priv_size, RTE_MBUF_PRIV_ALIGN));
  }
  for (const ArenaRequest::NodePages& node : request.nodes) {
    const numa::Node* found = topology.find(node.node);
    if (found == nullptr || !found->has_memory()) {
      return fail(-EINVAL,
                  fmt::format("arena {}: node {} {}; give pages to nodes with memory", request.name,
                              node.node, found == nullptr ? "does not exist" : "has no memory"));
    }
    if (node.pages == 0) {
      return fail(-EINVAL, fmt::format("arena {}: 0 pages on node {}; leave the node out, or give "
                                       "it 1 or more",
                                       request.name, node.node));
    }
    const auto same = [&](const ArenaRequest::NodePages& other) { return other.node == node.node; };
    if (std::count_if(request.nodes.begin(), request.nodes.end(), same) != 1) {
      return fail(-EINVAL,
                  fmt::format("arena {}: node {} is given twice", request.name, node.node));
    }
  }
  const uint32_t element =
      static_cast<uint32_t>(sizeof(rte_mbuf)) + request.priv_size + request.data_room;
  rte_mempool_objsz size{};
  rte_mempool_calc_obj_size(element, 0, &size);
  return PageLayout{size.header_size, size.elt_size, size.trailer_size};
}

Result<Watermarks> watermarks(const ArenaRequest& request, uint32_t smallest) {
  const auto pick = [&](uint32_t given, uint32_t share) {
    return given == ArenaHandle::kNoWatermark ? 0 : given == 0 ? smallest / share : given;
  };
  const Watermarks marks{pick(request.min_pages, 64), pick(request.low_pages, 32),
                         pick(request.high_pages, 16)};
  if (marks.min > marks.low || marks.low > marks.high || marks.high > smallest) {
    return fail(-EINVAL, fmt::format("arena {}: watermarks min {}, low {}, high {} are not in "
                                     "order, or not within the {} pages of the smallest node",
                                     request.name, marks.min, marks.low, marks.high, smallest));
  }
  return marks;
}

}  // namespace

Result<std::unique_ptr<ArenaHandle>> ArenaHandle::create(const ArenaRequest& request) {
  numa::TopologyPin pin = numa::pin_topology();
  const Result<PageLayout> layout = check(request, pin.topology());
  if (!layout) return tl::unexpected(layout.error());

  MemoryRequest wanted{request.name, {}, request.hugepages, request.strict};
  const std::size_t per_block = PageArena::kBlockBytes / layout->total();
  for (const ArenaRequest::NodePages& node : request.nodes) {
    const std::size_t blocks = (node.pages + per_block - 1) / per_block;
    wanted.nodes.push_back({node.node, blocks * PageArena::kBlockBytes});
  }
  Result<ArenaMemory> memory = ArenaMemory::map(wanted, pin.topology());
  if (!memory) return tl::unexpected(memory.error());
  if (Result<void> known = memory->register_with_eal(); !known) {
    return tl::unexpected(known.error());
  }
  std::unique_ptr<ArenaHandle> handle(new ArenaHandle(std::move(pin), std::move(*memory)));
  if (Result<void> filled = handle->fill(request, *layout); !filled) {
    return tl::unexpected(filled.error());
  }
  return handle;
}

ArenaHandle::~ArenaHandle() {
  PageArena::destroy(arena_);
}

Result<void> ArenaHandle::fill(const ArenaRequest& request, const PageLayout& layout) {
  const uint32_t per_block = static_cast<uint32_t>(PageArena::kBlockBytes / layout.total());
  std::vector<PageArena::NodeCapacity> capacities;
  uint32_t smallest = UINT32_MAX;
  for (const NodeRange& range : memory_.ranges()) {
    const auto blocks = static_cast<std::size_t>(range.hi - range.lo) / PageArena::kBlockBytes;
    const auto pages = static_cast<uint32_t>(blocks * per_block);
    capacities.push_back({range.node, pages});
    smallest = std::min(smallest, pages);
  }
  const Result<Watermarks> marks = watermarks(request, smallest);
  if (!marks) return tl::unexpected(marks.error());
  Result<PageArena*> arena =
      PageArena::create(request.name.c_str(), layout, capacities, *marks, pin_.topology());
  if (!arena) return tl::unexpected(arena.error());
  arena_ = *arena;

  for (uint32_t node = 0; node < capacities.size(); ++node) {
    const NodeRange& range = memory_.ranges()[node];
    if (Result<void> added = arena_->add_chunk(node, range.lo, range.hi, true); !added) {
      return added;
    }
  }
  std::vector<IovaChunk> chunks;
  memory_.for_each_chunk([&](std::byte* address, rte_iova_t iova, std::size_t bytes) {
    chunks.push_back({reinterpret_cast<char*>(address), iova, bytes});
  });
  if (Result<void> said = arena_->describe(request.data_room, request.priv_size, chunks); !said) {
    return said;
  }
  // From the last page to the first, so that the first is on top of the free list.
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    const bool has_iova = chunk->iova != RTE_BAD_IOVA;
    for (std::size_t block = chunk->bytes / PageArena::kBlockBytes; block-- > 0;) {
      for (uint32_t index = per_block; index-- > 0;) {
        const std::size_t offset =
            block * PageArena::kBlockBytes + std::size_t{index} * layout.total() + layout.header;
        char* page = chunk->address + offset;
        rte_mempool_objhdr* header = rte_mempool_get_header(page);
        header->mp = nullptr;  // nobody's yet
        header->iova = has_iova ? chunk->iova + offset : RTE_BAD_IOVA;
        arena_->add_page(page);
      }
    }
  }
  return {};
}

}  // namespace nearpool
