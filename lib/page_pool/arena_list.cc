// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/arena_list.hpp"

#include <utility>

namespace nearpool {

// Never destroyed: an arena that a program leaves behind must not be touched at its exit, when the
// EAL may have let go of the memory.
ArenaList& ArenaList::instance() {
  static auto* list = new ArenaList;
  return *list;
}

page_arena* ArenaList::add(std::unique_ptr<ArenaHandle> handle) {
  const std::lock_guard guard(lock_);
  page_arena* added = &arenas_.emplace_back(page_arena{std::move(handle)});
  if (added_) added_(*added->handle);
  return added;
}

bool ArenaList::remove(page_arena* arena, const std::function<bool(const PageArena&)>& in_use) {
  const std::lock_guard guard(lock_);
  if (in_use(arena->handle->arena())) return false;
  arenas_.remove_if([arena](const page_arena& entry) { return &entry == arena; });
  return true;
}

void ArenaList::on_added(std::function<void(const ArenaHandle&)> observer) {
  const std::lock_guard guard(lock_);
  added_ = std::move(observer);
}

void ArenaList::walk(const std::function<void(page_arena*)>& visit) {
  const std::lock_guard guard(lock_);
  for (auto next = arenas_.begin(); next != arenas_.end();) {
    page_arena& arena = *next++;
    visit(&arena);
  }
}

}  // namespace nearpool
