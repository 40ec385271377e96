// SPDX-License-Identifier: BSD-3-Clause
// For tests only: makes a step of ArenaMemory fail, or pages seem misplaced. Not thread-safe.
#pragma once

#include <cerrno>
#include <cstddef>

namespace nearpool {

// In the order in which they are taken.
enum class MemoryStep {
  kNone,
  kReserve,   // the span of addresses
  kMemfd,     // memfd_create()
  kTruncate,  // its size
  kSeal,      // against shrinking
  kMap,       // once per node
  kBind,      // once per node
  kPopulate,  // once per node
  kVerify,    // once per node
  kIova,      // once per span: physical addresses, or the span's own
  kRegister,  // rte_extmem_register()
  kDmaMap,    // once per chunk
};

// The nth time from now (1: the next) that the step is taken, it fails with this errno instead of
// being done, once. kNone: nothing fails.
void arena_memory_fail_at(MemoryStep step, unsigned nth = 1, int error_number = EIO);
// Whether the failure asked for has happened.
bool arena_memory_failed();

// The first `pages` pages of every range seem to lie on machine node `node`, until set to 0.
void arena_memory_misplace(std::size_t pages, int node);

// Goes without MADV_POPULATE_WRITE, as kernels before 5.14 must.
void arena_memory_without_populate(bool on);

}  // namespace nearpool
