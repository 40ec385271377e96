// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/registry.hpp"

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cstdio>

#include "page_arena/log.hpp"
#include "page_pool/trace.hpp"

namespace nearpool {

namespace {

constexpr uint64_t kLingerMs = 100;
constexpr uint64_t kFirstWarningS = 1;
constexpr uint64_t kWarningEveryS = 60;

// Whether some thread other than the caller may be inside a call right now.
bool others_run() {
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    if (lcore == rte_lcore_id()) continue;
    const rte_lcore_role_t role = rte_eal_lcore_role(lcore);
    if (role == ROLE_NON_EAL) return true;
    if (role == ROLE_RTE && lcore != rte_get_main_lcore() &&
        rte_eal_get_lcore_state(lcore) == RUNNING) {
      return true;
    }
  }
  return false;
}

void trace_end(const QueuePool& pool) {
  trace::release(pool.id, pool.name(), pool.inflight(), pool.count(Counter::kAllocArena),
                 pool.count(Counter::kReleased));
}

}  // namespace

// Never destroyed: pools may outlive main().
Registry& Registry::instance() {
  static auto* registry = new Registry;
  return *registry;
}

void Registry::add(QueuePool* pool) {
  const std::lock_guard guard(lock_);
  pools_.push_back(pool);
}

bool Registry::retire(QueuePool* pool) {
  const std::lock_guard guard(lock_);
  std::erase(pools_, pool);
  pool->start_dying();
  trace_end(*pool);
  const uint64_t now = rte_get_tsc_cycles();
  Dying dying{.pool = pool, .since = now, .next_warning = now + kFirstWarningS * rte_get_tsc_hz()};
  if (may_free(dying, now)) {
    QueuePool::free(pool);
    return true;
  }
  dying_.push_back(dying);
  return false;
}

unsigned Registry::service() {
  const std::lock_guard guard(lock_);
  for (QueuePool* pool : pools_)
    pool->service();
  const uint64_t now = rte_get_tsc_cycles();
  std::erase_if(dying_, [&](Dying& dying) {
    dying.pool->service();
    trace_end(*dying.pool);
    if (may_free(dying, now)) {
      QueuePool::free(dying.pool);
      return true;
    }
    watch(dying, now);
    return false;
  });
  return static_cast<unsigned>(dying_.size());
}

// No page is out, and every thread that brought one has left the call in which it did.
bool Registry::may_free(Dying& dying, uint64_t now) {
  if (dying.broken || !dying.pool->at_rest()) {
    dying.empty_since = 0;
    return false;
  }
  if (!have_left(dying, now)) return false;
  // Looked at again: the first look may have met a page on its way from one place to another. Since
  // then every lcore has seen that the pool is dying, and gathers none.
  if (!dying.pool->at_rest()) return false;
  dying.pool->empty_caches();
  return dying.pool->owned() == 0;
}

// Whether all threads that may have been inside a call at the first of these questions have left
// it.
bool Registry::have_left(Dying& dying, uint64_t now) {
  if (qsbr_ == nullptr && !others_run()) return true;
  if (dying.empty_since == 0) {
    dying.empty_since = now;
    if (qsbr_ != nullptr) dying.token = rte_rcu_qsbr_start(qsbr_);
  }
  if (qsbr_ != nullptr) return rte_rcu_qsbr_check(qsbr_, dying.token, false) == 1;
  return now - dying.empty_since >= kLingerMs * rte_get_tsc_hz() / 1000;
}

void Registry::watch(Dying& dying, uint64_t now) {
  if (dying.broken) return;
  const int64_t inflight = dying.pool->inflight();
  dying.negative = inflight < 0 ? dying.negative + 1 : 0;
  if (dying.negative >= 3) {
    // Not a moment between two counts: more pages came back than went out. Freeing the pool would
    // make it worse.
    dying.broken = true;
    NEARPOOL_LOG(ERR,
                 "pool %s: %lld pages in flight; pages were returned twice; the pool is kept for "
                 "ever; create it hardened to find out by whom",
                 dying.pool->name(), static_cast<long long>(inflight));
    return;
  }
  if (now < dying.next_warning || dying.pool->owned() == 0) return;
  dying.next_warning = now + kWarningEveryS * rte_get_tsc_hz();
  trace::stall(dying.pool->id, dying.pool->name(), inflight,
               (now - dying.since) / rte_get_tsc_hz());
  NEARPOOL_LOG(WARNING, "pool %s is dying since %llu s: %u pages are not home, %lld of them in use",
               dying.pool->name(),
               static_cast<unsigned long long>((now - dying.since) / rte_get_tsc_hz()),
               dying.pool->owned(), static_cast<long long>(inflight));
}

void Registry::use_qsbr(rte_rcu_qsbr* qsbr) {
  const std::lock_guard guard(lock_);
  qsbr_ = qsbr;
  // What was waited for so far says nothing about the new variable's readers.
  for (Dying& dying : dying_)
    dying.empty_since = 0;
}

bool Registry::knows(const QueuePool* pool) const {
  return std::find(pools_.begin(), pools_.end(), pool) != pools_.end() ||
         std::any_of(dying_.begin(), dying_.end(),
                     [pool](const Dying& dying) { return dying.pool == pool; });
}

void Registry::walk(const std::function<void(QueuePool*)>& visit) {
  const std::lock_guard guard(lock_);
  std::vector<QueuePool*> all = pools_;
  for (const Dying& dying : dying_)
    all.push_back(dying.pool);
  for (QueuePool* pool : all) {
    if (knows(pool)) visit(pool);
  }
}

void Registry::add(SharedPool* pool) {
  const std::lock_guard guard(lock_);
  shared_.push_back(pool);
}

void Registry::remove(SharedPool* pool) {
  const std::lock_guard guard(lock_);
  std::erase(shared_, pool);
}

void Registry::walk_shared(const std::function<void(SharedPool*)>& visit) {
  const std::lock_guard guard(lock_);
  for (SharedPool* pool : shared_)
    visit(pool);
}

bool Registry::uses(const PageArena* arena) {
  bool used = false;
  walk([&](QueuePool* pool) { used = used || pool->arena() == arena; });
  return used;
}

bool Registry::return_to_owner(void* page, char* owner) {
  const std::lock_guard guard(lock_);
  const auto owns = [page](const QueuePool* pool) {
    return pool->arena()->is_page(page) && pool->is_owner_in(rte_mempool_from_obj(page));
  };
  QueuePool* found = nullptr;
  for (QueuePool* pool : pools_)
    if (owns(pool)) found = pool;
  for (const Dying& dying : dying_)
    if (owns(dying.pool)) found = dying.pool;
  if (found == nullptr) return false;
  std::snprintf(owner, PAGE_POOL_NAME_MAX + 1, "%s", found->name());
  // Under the lock, so that the pool lives until the page is in it.
  found->enqueue(&page, 1);
  return true;
}

}  // namespace nearpool
