// SPDX-License-Identifier: BSD-3-Clause
// Memory of rings and doorbell records. A program may bring allocators of its own; the PMD does, so
// that its secondary processes see the queues.
#pragma once

#include <infiniband/mlx5dv.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nearpool::connectx4 {

// Any thread may make queues.
class QueueMemory {
 public:
  ~QueueMemory();

  void use_allocators(const mlx5dv_ctx_allocators& allocators) { allocators_ = allocators; }

  // Zeroed and aligned to a page, or null. Not while the device threads are paused: the program's
  // allocator may take its time.
  void* allocate(size_t bytes);
  void release(void* memory);

  // Two 32-bit words on a cache line of their own, zeroed, or null.
  uint32_t* allocate_doorbell();
  void release_doorbell(uint32_t* doorbell);

 private:
  std::mutex doorbell_mutex_;
  std::vector<void*> doorbell_pages_;
  std::vector<uint32_t*> free_doorbells_;
  mlx5dv_ctx_allocators allocators_{};
};

}  // namespace nearpool::connectx4
