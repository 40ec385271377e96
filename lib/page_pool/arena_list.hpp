// SPDX-License-Identifier: BSD-3-Clause
// The process's arenas. The control thread makes and destroys them; other threads of the process
// look at them, which keeps them alive meanwhile.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "page_arena/arena_handle.hpp"

// The C API's name of an arena.
struct page_arena {
  std::unique_ptr<nearpool::ArenaHandle> handle;
};

namespace nearpool {

class ArenaList {
 public:
  static ArenaList& instance();

  // Control thread.
  page_arena* add(std::unique_ptr<ArenaHandle> handle);
  // Unless it is in use, as the predicate says, which is asked while nobody else looks.
  bool remove(page_arena* arena, const std::function<bool(const PageArena&)>& in_use);
  // Called for each arena after it was added, by the control thread. One observer; none at first.
  void on_added(std::function<void(const ArenaHandle&)> observer);

  // Any thread. No arena goes while this runs, but those that `visit` itself removes.
  void walk(const std::function<void(page_arena*)>& visit);

 private:
  std::recursive_mutex lock_;
  std::list<page_arena> arenas_;
  std::function<void(const ArenaHandle&)> added_;
};

}  // namespace nearpool
