// SPDX-License-Identifier: BSD-3-Clause
// An arena with memory of its own: what the C API calls struct page_arena. Process-private; the
// PageArena in it is what pools use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "numa/current_node.hpp"
#include "page_arena/arena_memory.hpp"
#include "page_arena/page_arena.hpp"

namespace nearpool {

struct ArenaRequest {
  struct NodePages {
    int node;
    uint32_t pages;
  };
  std::string name;
  std::vector<NodePages> nodes;
  uint16_t data_room = 0;
  uint16_t priv_size = 0;
  // Zero: default of the smallest node; kNoWatermark: none.
  uint32_t min_pages = 0;
  uint32_t low_pages = 0;
  uint32_t high_pages = 0;
  bool hugepages = true;
  bool strict = true;
};

// Control thread throughout.
class ArenaHandle {
 public:
  static constexpr uint32_t kNoWatermark = UINT32_MAX;

  static Result<std::unique_ptr<ArenaHandle>> create(const ArenaRequest& request);
  ~ArenaHandle();
  ArenaHandle(const ArenaHandle&) = delete;
  ArenaHandle& operator=(const ArenaHandle&) = delete;

  PageArena& arena() { return *arena_; }
  const PageArena& arena() const { return *arena_; }
  ArenaMemory& memory() { return memory_; }
  const ArenaMemory& memory() const { return memory_; }

 private:
  ArenaHandle(numa::TopologyPin pin, ArenaMemory memory)
      : pin_(std::move(pin)), memory_(std::move(memory)) {}
  Result<void> fill(const ArenaRequest& request, const PageLayout& layout);

  numa::TopologyPin pin_;
  ArenaMemory memory_;
  PageArena* arena_ = nullptr;
};

}  // namespace nearpool
