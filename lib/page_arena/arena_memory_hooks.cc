// SPDX-License-Identifier: BSD-3-Clause
#include "page_arena/arena_memory_hooks.hpp"

namespace nearpool {

MemoryHooks& memory_hooks() {
  static MemoryHooks hooks;
  return hooks;
}

int injected_failure(MemoryStep step) {
  MemoryHooks& hooks = memory_hooks();
  if (hooks.fail_step != step || hooks.fail_countdown == 0) return 0;
  if (--hooks.fail_countdown != 0) return 0;
  hooks.failed = true;
  return hooks.fail_errno;
}

void arena_memory_fail_at(MemoryStep step, unsigned nth, int error_number) {
  MemoryHooks& hooks = memory_hooks();
  hooks.fail_step = step;
  hooks.fail_countdown = nth;
  hooks.fail_errno = error_number;
  hooks.failed = false;
}

bool arena_memory_failed() {
  return memory_hooks().failed;
}

void arena_memory_misplace(std::size_t pages, int node) {
  memory_hooks().misplaced_pages = pages;
  memory_hooks().misplaced_node = node;
}

void arena_memory_without_populate(bool on) {
  memory_hooks().without_populate = on;
}

}  // namespace nearpool
