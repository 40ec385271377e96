// SPDX-License-Identifier: BSD-3-Clause
#include "queue_memory.hpp"

#include <cstdlib>
#include <cstring>

#include "hot_memory.hpp"

namespace nearpool::connectx4 {
namespace {
constexpr size_t kPage = 4096;
}

QueueMemory::~QueueMemory() {
  for (void* page : doorbell_pages_)
    release(page);
}

void* QueueMemory::allocate(size_t bytes) {
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  void* memory = allocators_.alloc != nullptr ? allocators_.alloc(rounded, allocators_.data)
                                              : std::aligned_alloc(kPage, rounded);
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return memory;
}

void QueueMemory::release(void* memory) {
  if (memory == nullptr) return;
  if (allocators_.free != nullptr) {
    allocators_.free(memory, allocators_.data);
  } else {
    std::free(memory);
  }
}

uint32_t* QueueMemory::allocate_doorbell() {
  const std::lock_guard lock(doorbell_mutex_);
  if (free_doorbells_.empty()) {
    auto* page = static_cast<uint8_t*>(allocate(kPage));
    if (page == nullptr) return nullptr;
    doorbell_pages_.push_back(page);
    for (size_t at = kPage; at > 0; at -= kCacheLine) {
      free_doorbells_.push_back(reinterpret_cast<uint32_t*>(page + at - kCacheLine));
    }
  }
  uint32_t* doorbell = free_doorbells_.back();
  free_doorbells_.pop_back();
  std::memset(doorbell, 0, kCacheLine);
  return doorbell;
}

void QueueMemory::release_doorbell(uint32_t* doorbell) {
  if (doorbell == nullptr) return;
  const std::lock_guard lock(doorbell_mutex_);
  free_doorbells_.push_back(doorbell);
}

}  // namespace nearpool::connectx4
