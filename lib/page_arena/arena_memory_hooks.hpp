// SPDX-License-Identifier: BSD-3-Clause
// Internal to ArenaMemory: the other end of arena_memory_testing.hpp.
#pragma once

#include <cerrno>
#include <cstddef>

#include "page_arena/arena_memory_testing.hpp"

namespace nearpool {

struct MemoryHooks {
  MemoryStep fail_step = MemoryStep::kNone;
  unsigned fail_countdown = 0;
  int fail_errno = 0;
  bool failed = false;
  std::size_t misplaced_pages = 0;
  int misplaced_node = 0;
  bool without_populate = false;
};

MemoryHooks& memory_hooks();

// The errno that a test wants this step to fail with, or 0.
int injected_failure(MemoryStep step);

// Takes a step that says what went wrong in errno. Returns 0, or a positive errno.
template <typename Call>
int take_step(MemoryStep step, Call&& call) {
  if (const int error_number = injected_failure(step)) return error_number;
  return call() ? 0 : errno;
}

}  // namespace nearpool
