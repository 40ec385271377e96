// SPDX-License-Identifier: BSD-3-Clause
// The process's pools, those that wait for their last pages included. Control thread, except where
// other threads look.
#pragma once

#include <rte_rcu_qsbr.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "page_pool/queue_pool.hpp"
#include "page_pool/shared_pool.hpp"

namespace nearpool {

class Registry {
 public:
  static Registry& instance();

  void add(QueuePool* pool);
  // Pools that programs make without knowing of us are listed only.
  void add(SharedPool* pool);
  void remove(SharedPool* pool);
  // Whether the pool is gone; else it is listed as dying.
  bool retire(QueuePool* pool);
  // Returns the number of dying pools.
  unsigned service();
  void use_qsbr(rte_rcu_qsbr* qsbr);
  // Any thread. Visits those that exist now; a visit of the control thread may retire pools.
  void walk(const std::function<void(QueuePool*)>& visit);
  // Any thread. No pool goes while this runs, but those that a visit of the control thread retires.
  void walk_shared(const std::function<void(SharedPool*)>& visit);
  bool uses(const PageArena* arena);
  // Any thread. While it is held no pool comes or goes.
  std::unique_lock<std::recursive_mutex> hold() { return std::unique_lock(lock_); }
  // Any thread. Returns a page to the pool that its header names, and writes that pool's name to
  // `owner`, PAGE_POOL_NAME_MAX + 1 bytes. False: it is no page of any pool that there is.
  bool return_to_owner(void* page, char* owner);

 private:
  struct Dying {
    QueuePool* pool;
    uint64_t since;            // TSC
    uint64_t next_warning;     // TSC
    uint64_t empty_since = 0;  // TSC; 0: pages are out
    uint64_t token = 0;        // of the QSBR variable, valid while empty_since != 0
    unsigned negative = 0;     // times in a row that fewer than no pages were out
    bool broken = false;       // kept for ever
  };

  bool knows(const QueuePool* pool) const;
  bool may_free(Dying& dying, uint64_t now);
  bool have_left(Dying& dying, uint64_t now);
  void watch(Dying& dying, uint64_t now);

  std::recursive_mutex lock_;
  std::vector<QueuePool*> pools_;
  std::vector<Dying> dying_;
  std::vector<SharedPool*> shared_;
  rte_rcu_qsbr* qsbr_ = nullptr;
};

}  // namespace nearpool
