// SPDX-License-Identifier: BSD-3-Clause
#include "control/worker_set.hpp"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <sched.h>

#include <algorithm>

namespace nearpool {
namespace {

int run_worker(void* worker) {
  static_cast<Worker*>(worker)->run();
  return 0;
}

// Whether a lcore other than `lcore` has a queue or ring that `same` recognises.
template <class Same>
bool elsewhere(const Plans& plans, unsigned lcore, Same same) {
  return std::any_of(plans.begin(), plans.end(), [&](const auto& entry) {
    return entry.first != lcore && same(*entry.second);
  });
}

}  // namespace

std::unique_ptr<Plans> without_handovers(const Plans& current, const Plans& wanted) {
  auto reduced = std::make_unique<Plans>();
  size_t removed = 0;
  for (const auto& [lcore, plan] : wanted) {
    auto copy = std::make_unique<Plan>(*plan);
    removed += std::erase_if(copy->polled, [&, id = lcore](const PolledQueue& queue) {
      return elsewhere(current, id, [&](const Plan& other) {
        return std::any_of(other.polled.begin(), other.polled.end(),
                           [&](const PolledQueue& theirs) {
                             return theirs.port == queue.port && theirs.queue == queue.queue;
                           });
      });
    });
    removed += std::erase_if(copy->handed, [&, id = lcore](const HandedQueue& handed) {
      return elsewhere(current, id, [&](const Plan& other) {
        return std::any_of(other.handed.begin(), other.handed.end(),
                           [&](const HandedQueue& theirs) { return theirs.ring == handed.ring; });
      });
    });
    (*reduced)[lcore] = std::move(copy);
  }
  return removed == 0 ? nullptr : std::move(reduced);
}

void WorkerSet::Free::operator()(rte_rcu_qsbr* qsbr) const {
  rte_free(qsbr);
}

Result<std::unique_ptr<WorkerSet>> WorkerSet::launch(const std::vector<unsigned>& lcores) {
  std::unique_ptr<WorkerSet> set(new WorkerSet(lcores));
  if (auto status = set->start_all(); !status) return tl::unexpected(status.error());
  return set;
}

Status WorkerSet::start_all() {
  const size_t size = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
  qsbr_.reset(static_cast<rte_rcu_qsbr*>(rte_zmalloc("nearpmd_qsbr", size, RTE_CACHE_LINE_SIZE)));
  if (!qsbr_ || rte_rcu_qsbr_init(qsbr_.get(), RTE_MAX_LCORE) != 0) {
    return failure("no memory for the quiescent states of {} lcores ({} bytes)", RTE_MAX_LCORE,
                   size);
  }
  for (const unsigned lcore : lcores_) {
    auto worker = std::make_unique<Worker>(lcore, qsbr_.get());
    if (const int error = rte_eal_remote_launch(run_worker, worker.get(), lcore); error != 0) {
      return failure("lcore {} does not start: {}", lcore, rte_strerror(-error));
    }
    workers_[lcore] = std::move(worker);
    running_.push_back(lcore);
  }
  return {};
}

WorkerSet::~WorkerSet() {
  for (const auto& [lcore, worker] : workers_)
    worker->quit();
  for (const unsigned lcore : running_)
    rte_eal_wait_lcore(lcore);
}

void WorkerSet::publish(Plans plans) {
  if (auto first = without_handovers(plans_, plans)) swap_in(std::move(*first));
  swap_in(std::move(plans));
}

void WorkerSet::swap_in(Plans plans) {
  for (const auto& [lcore, worker] : workers_) {
    const auto plan = plans.find(lcore);
    worker->publish(plan == plans.end() ? nullptr : plan->second.get());
  }
  wait_left();
  plans_ = std::move(plans);  // the old plans go
}

void WorkerSet::wait_left() {
  // After the first grace period every worker has read its new plan or is about to before it polls
  // again; after the second it has left the queues of the old one.
  for (int period = 0; period < 2; period++) {
    const uint64_t token = rte_rcu_qsbr_start(qsbr_.get());
    // Not by spinning: a lcore that is waited for may share this CPU.
    while (rte_rcu_qsbr_check(qsbr_.get(), token, false) == 0)
      sched_yield();
  }
}

const Worker* WorkerSet::find(unsigned lcore) const {
  const auto found = workers_.find(lcore);
  return found == workers_.end() ? nullptr : found->second.get();
}

}  // namespace nearpool
