// SPDX-License-Identifier: BSD-3-Clause
#include "control/plans.hpp"

#include <rte_cycles.h>

#include <algorithm>

#include "datapath/verdict.hpp"

namespace nearpool {
namespace {

// Idle TX queues are looked at this often.
constexpr uint64_t kReapsPerSecond = 1000;

class Builder {
 public:
  explicit Builder(const PlanInput& input) : input_(input), options_(*input.options) {
    for (const Port* port : input.ports)
      ids_.push_back(port->id());
    if (options_.verdict == Verdict::kPass) pass_ = pass_routes(input.ports, options_.pass_map);
  }

  Plans build() {
    for (size_t i = 0; i < input_.lcores.size(); i++)
      add_lcore(i);
    for (const Port* port : input_.ports) {
      if (!usable(port)) continue;
      for (const auto& queue : port->rx_queues())
        add_queue(*port, *queue);
    }
    for (auto& [lcore, plan] : plans_)
      add_foreign_pools(*plan);
    return std::move(plans_);
  }

 private:
  void add_lcore(size_t index) {
    auto plan = std::make_unique<Plan>();
    plan->touch = touch_function(options_.touch, options_.verdict);
    plan->verdict = verdict_function(options_.verdict);
    plan->burst = options_.burst;
    plan->reap_cycles = rte_get_tsc_hz() / kReapsPerSecond;
    for (const Port* port : input_.ports) {
      if (TxQueue* queue = tx_queue(port, index)) plan->tx_queues.push_back(queue);
    }
    plans_[input_.lcores[index].lcore] = std::move(plan);
  }

  void add_queue(const Port& port, RxQueue& queue) {
    const auto owner = input_.owners->find(queue.key);
    if (owner == input_.owners->end()) return;
    const auto plan = plans_.find(owner->second);
    if (plan == plans_.end()) return;
    const Port* target = find(target_of(port.id()));
    const bool handed = options_.verdict == Verdict::kRedirectCpu;

    if (!input_.drain) {
      PolledQueue polled;
      polled.port = queue.key.port;
      polled.queue = queue.key.queue;
      polled.pool = queue.buffers->pool();
      polled.counters = &queue.counters;
      polled.out = handed ? nullptr : tx_queue(target, index_of(owner->second));
      polled.handoff = handed ? queue.handoff : nullptr;
      polled.checksums = port.lacks_checksums();
      polled.rewrite = rewrite_for(target);
      plan->second->polled.push_back(polled);
    }
    if (handed && queue.handoff != nullptr) {
      const unsigned transmitter = transmitter_of(input_.lcores, owner->second);
      HandedQueue entry;
      entry.ring = queue.handoff;
      entry.out = tx_queue(target, index_of(transmitter));
      entry.counters = &queue.transmitter;
      entry.checksums = port.lacks_checksums();
      entry.rewrite = rewrite_for(target);
      plans_[transmitter]->handed.push_back(entry);
    }
  }

  // Pages of any queue may end in the TX queues of any lcore: after a move, a hand-over, a loop.
  void add_foreign_pools(Plan& plan) const {
    for (const Port* port : input_.ports) {
      if (!usable(port)) continue;
      for (const auto& queue : port->rx_queues()) {
        page_pool* pool = queue->buffers->pool();
        const bool own =
            std::any_of(plan.polled.begin(), plan.polled.end(),
                        [&](const PolledQueue& polled) { return polled.pool == pool; });
        if (pool != nullptr && !own) plan.foreign_pools.push_back(pool);
      }
    }
  }

  int target_of(uint16_t port) const {
    switch (options_.verdict) {
      case Verdict::kDrop:
        return -1;
      case Verdict::kTx:
        return port;
      case Verdict::kPass: {
        const auto route = pass_.find(port);
        return route == pass_.end() ? -1 : route->second;
      }
      case Verdict::kRedirect:
      case Verdict::kRedirectCpu:
        break;
    }
    return peer_of(ids_, port, options_.topology);
  }

  const Port* find(int id) const {
    for (const Port* port : input_.ports) {
      if (port->id() == id && usable(port)) return port;
    }
    return nullptr;
  }

  bool usable(const Port* port) const {
    return port->state() == PortState::kStarted && input_.quiet->count(port->id()) == 0;
  }

  TxQueue* tx_queue(const Port* port, size_t lcore_index) const {
    if (port == nullptr || !usable(port) || port->tx_queues().empty()) return nullptr;
    return port->tx_queues()[lcore_index % port->tx_queues().size()].get();
  }

  size_t index_of(unsigned lcore) const {
    const auto found = std::find_if(input_.lcores.begin(), input_.lcores.end(),
                                    [&](const LcorePlace& place) { return place.lcore == lcore; });
    return static_cast<size_t>(found - input_.lcores.begin());
  }

  MacRewrite rewrite_for(const Port* target) const {
    MacRewrite rewrite;
    if (target == nullptr) return rewrite;
    const auto peer = options_.eth_peer.find(target->id());
    if (peer == options_.eth_peer.end()) return rewrite;
    rewrite.on = true;
    std::copy(peer->second.begin(), peer->second.end(), rewrite.addresses.begin());
    std::copy(target->mac().begin(), target->mac().end(), rewrite.addresses.begin() + 6);
    return rewrite;
  }

  const PlanInput& input_;
  const Options& options_;
  std::vector<uint16_t> ids_;
  std::map<uint16_t, uint16_t> pass_;
  Plans plans_;
};

}  // namespace

Plans build_plans(const PlanInput& input) {
  return Builder(input).build();
}

void share_tx_queues(std::span<Port* const> ports, size_t lcores) {
  for (const Port* port : ports) {
    for (const auto& queue : port->tx_queues())
      queue->shared = port->tx_queues().size() < lcores;
  }
}

std::map<uint16_t, uint16_t> pass_routes(std::span<Port* const> ports,
                                         const std::map<uint16_t, uint16_t>& chosen) {
  std::map<uint16_t, uint16_t> routes;
  for (const auto& [port, exception] : chosen) {
    routes[port] = exception;
    routes[exception] = port;
  }
  if (!chosen.empty()) return routes;
  std::vector<uint16_t> ordinary, exceptions;
  for (const Port* port : ports)
    (port->exception() ? exceptions : ordinary).push_back(port->id());
  for (size_t i = 0; i < std::min(ordinary.size(), exceptions.size()); i++) {
    routes[ordinary[i]] = exceptions[i];
    routes[exceptions[i]] = ordinary[i];
  }
  return routes;
}

}  // namespace nearpool
