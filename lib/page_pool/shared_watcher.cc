// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/shared_watcher.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "dpdk_compat.hpp"
#include "page_arena/log.hpp"

namespace nearpool::shared_watcher {

namespace {

constexpr std::chrono::milliseconds kPeriod{100};

struct Watcher {
  std::mutex start_and_stop;  // taken before `lock`, never by the thread itself
  std::mutex lock;
  std::condition_variable changed;
  std::vector<SharedPool*> pools;
  compat::ControlThread thread{};

  // An EAL control thread: it keeps off the lcores' CPUs where there are others.
  static compat::ControlResult run(void* self) {
    static_cast<Watcher*>(self)->watch();
    return compat::kControlDone;
  }

  void watch() {
    std::unique_lock guard(lock);
    while (!pools.empty()) {
      for (SharedPool* pool : pools)
        pool->knock_and_settle();
      changed.wait_for(guard, kPeriod);
    }
  }
};

// Never destroyed: a program may end while its pools live.
Watcher& watcher() {
  static auto* instance = new Watcher;
  return *instance;
}

}  // namespace

void add(SharedPool* pool) {
  Watcher& w = watcher();
  // A thread that is to end ends before another one is started: it would go on.
  const std::lock_guard whole(w.start_and_stop);
  const std::lock_guard guard(w.lock);
  w.pools.push_back(pool);
  if (w.pools.size() != 1) return;
  if (compat::start_control_thread(&w.thread, "page_pool_watch", Watcher::run, &w) != 0) {
    w.pools.clear();
    NEARPOOL_LOG(WARNING,
                 "no control thread could be started: lcores that change node are noticed "
                 "only when they run out of cached pages");
  }
}

void remove(SharedPool* pool) {
  Watcher& w = watcher();
  const std::lock_guard whole(w.start_and_stop);
  compat::ControlThread done{};
  {
    const std::lock_guard guard(w.lock);
    if (std::erase(w.pools, pool) == 0 || !w.pools.empty()) return;
    done = w.thread;
    w.changed.notify_all();
  }
  compat::join(done);
}

}  // namespace nearpool::shared_watcher
