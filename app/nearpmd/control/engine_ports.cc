// SPDX-License-Identifier: BSD-3-Clause
// What the engine does to ports, while the others forward.
#include <rte_cycles.h>
#include <rte_dev.h>

#include <algorithm>
#include <array>

#include "control/captures.hpp"
#include "control/engine.hpp"

namespace nearpool {

Result<Port*> Engine::find_port(uint16_t id) const {
  const auto found = ports_.find(id);
  if (found != ports_.end()) return found->second.get();
  std::vector<uint16_t> ids;
  for (const auto& entry : ports_)
    ids.push_back(entry.first);
  if (ids.empty()) return failure("there is no port {}: none is attached", id);
  return failure("there is no port {}: ports are {}", id, list_of(ids));
}

Result<RxQueue*> Engine::find_queue(QueueKey key) const {
  auto port = find_port(key.port);
  if (!port) return tl::unexpected(port.error());
  const auto& queues = (*port)->rx_queues();
  if (queues.empty()) {
    return failure("port {} has no RX queues yet: start it first", key.port);
  }
  if (key.queue >= queues.size()) {
    return failure("port {} has no RX queue {}: its queues are 0 to {}", key.port, key.queue,
                   queues.size() - 1);
  }
  return queues[key.queue].get();
}

Status Engine::start_ports() {
  for (const auto& entry : ports_) {
    if (entry.second->state() != PortState::kStopped) continue;
    if (auto status = start_port(entry.first); !status) return status;
  }
  return {};
}

// When this returns no lcore polls the port or sends to it, nor looks at its pools.
void Engine::leave_alone(uint16_t id) {
  if (!forwarding_) return;
  quiet_.insert(id);
  publish();
  ports_.at(id)->drop_handed_over();
}

Status Engine::start_port(uint16_t id) {
  auto port = find_port(id);
  if (!port) return tl::unexpected(port.error());
  if (auto status = (*port)->start(*memory_); !status) return status;
  quiet_.erase(id);
  if (!forwarding_) return {};
  assign(Assignment::kStays);
  // Its own alone: lcores look at those of the others.
  share_tx_queues(std::array{*port}, forwarding_lcores().size());
  Status rings;
  if (in_force_.verdict == Verdict::kRedirectCpu) rings = (*port)->make_handoff_rings();
  publish();
  return rings;
}

Status Engine::stop_port(uint16_t id) {
  auto port = find_port(id);
  if (!port) return tl::unexpected(port.error());
  if ((*port)->state() != PortState::kStarted) return (*port)->stop();  // says why not
  leave_alone(id);
  return (*port)->stop();
}

Status Engine::close_port(uint16_t id) {
  auto port = find_port(id);
  if (!port) return tl::unexpected(port.error());
  return (*port)->close();
}

Status Engine::reset_port(uint16_t id) {
  auto port = find_port(id);
  if (!port) return tl::unexpected(port.error());
  return (*port)->reset();
}

Result<std::vector<uint16_t>> Engine::attach(const std::string& identifier) {
  std::vector<uint16_t> before;
  uint16_t id;
  RTE_ETH_FOREACH_DEV(id) before.push_back(id);
  if (const int error = rte_dev_probe(identifier.c_str()); error != 0) {
    return failure(
        "device '{}' cannot be attached: {}; give a PCI address or a vdev with its "
        "arguments, as in net_null2,size=64",
        identifier, rte_strerror(-error));
  }
  std::vector<uint16_t> added;
  RTE_ETH_FOREACH_DEV(id) {
    if (std::find(before.begin(), before.end(), id) == before.end()) added.push_back(id);
  }
  if (added.empty()) return failure("device '{}' brought no port with it", identifier);
  // All of them or none: they are one device.
  std::vector<std::unique_ptr<Port>> opened;
  for (const uint16_t port : added) {
    auto next = Port::open(port, settings());
    if (!next) {
      rte_eth_dev_info info;
      const bool known = rte_eth_dev_info_get(port, &info) == 0;
      opened.clear();
      if (known) rte_dev_remove(info.device);
      return tl::unexpected(next.error());
    }
    opened.push_back(std::move(*next));
  }
  for (auto& port : opened) {
    forget_closed(port->id());
    ports_[port->id()] = std::move(port);
  }
  assign(Assignment::kStays);
  return added;
}

// The number of a closed port is free again for DPDK, and another one has been given it.
void Engine::forget_closed(uint16_t id) {
  const auto closed = ports_.find(id);
  if (closed == ports_.end()) return;
  rte_device* device = closed->second->device();
  forget(id);
  const bool shared = std::any_of(ports_.begin(), ports_.end(), [device](const auto& entry) {
    return entry.second->device() == device;
  });
  if (!shared) rte_dev_remove(device);
}

void Engine::forget(uint16_t id) {
  // Pages still held elsewhere keep the pools alive, as dying ones.
  ports_.erase(id);
  quiet_.erase(id);
  watchdog_.forget(id);
  std::erase_if(moved_, [id](QueueKey key) { return key.port == id; });
}

Result<std::vector<uint16_t>> Engine::detach(uint16_t id) {
  auto port = find_port(id);
  if (!port) return tl::unexpected(port.error());
  rte_device* device = (*port)->device();
  const std::string name = (*port)->name();
  std::vector<uint16_t> ids;
  for (const auto& [other, its_port] : ports_) {
    if (its_port->device() != device) continue;
    if (its_port->state() == PortState::kStarted) {
      if (other == id) return failure("port {} is started: port stop {} first", id, id);
      return failure("port {} is on device {} like port {}, which is started: port stop {} first",
                     id, name, other, other);
    }
    ids.push_back(other);
  }
  for (const uint16_t gone : ids) {
    if (ports_.at(gone)->state() != PortState::kStopped) continue;
    if (auto status = ports_.at(gone)->close(); !status) return tl::unexpected(status.error());
  }
  for (const uint16_t gone : ids)
    forget(gone);
  assign(Assignment::kStays);
  if (forwarding_) publish();
  if (const int error = rte_dev_remove(device); error != 0) {
    return failure("port {} is gone, but its device {} cannot be removed: {}", id, name,
                   rte_strerror(-error));
  }
  return ids;
}

Status Engine::reconfigure() {
  for (const auto& entry : ports_) {
    if (entry.second->state() == PortState::kStarted) {
      return failure("port {} is started: port stop all first", entry.first);
    }
  }
  for (const auto& entry : ports_) {
    if (entry.second->state() == PortState::kClosed) continue;
    if (auto status = entry.second->change(settings()); !status) return status;
  }
  assign(Assignment::kStays);
  return {};
}

void Engine::tick() {
  flush_main_lcore();
  dying_ = page_pool_service();
  board_.refresh(*this,
                 static_cast<double>(rte_get_tsc_cycles()) / static_cast<double>(rte_get_tsc_hz()));
  note_dying();
  watch_rx();
  if (forwarding_) return;
  // Nobody else sends now: what idle TX rings still hold is asked back from here.
  for (const auto& entry : ports_) {
    if (entry.second->state() != PortState::kStarted) continue;
    for (const auto& queue : entry.second->tx_queues())
      queue->reap_if_idle();
  }
}

void Engine::note_dying() {
  if (dying_ == 0) {
    dying_since_.clear();
    return;
  }
  page_pool_walk(
      [](page_pool* pool, void* since) {
        page_pool_stats stats;
        page_pool_get_stats(pool, &stats);
        if (!stats.dying) return;
        static_cast<std::map<uint32_t, uint64_t>*>(since)->try_emplace(stats.id,
                                                                       rte_get_tsc_cycles());
      },
      &dying_since_);
}

double Engine::dying_seconds(uint32_t pool) const {
  const auto since = dying_since_.find(pool);
  if (since == dying_since_.end()) return 0;
  return static_cast<double>(rte_get_tsc_cycles() - since->second) /
         static_cast<double>(rte_get_tsc_hz());
}

void Engine::watch_rx() {
  const double now =
      static_cast<double>(rte_get_tsc_cycles()) / static_cast<double>(rte_get_tsc_hz());
  for (const Port* port : ports_in_use()) {
    if (!forwarding_ || port->state() != PortState::kStarted || port->finite_input()) {
      watchdog_.forget(port->id());
      continue;
    }
    uint64_t received = 0;
    for (const auto& queue : port->rx_queues())
      received += queue->counters.received.read();
    rte_eth_link link{};
    const bool up =
        rte_eth_link_get_nowait(port->id(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    const std::string sentence =
        watchdog_.look(port->id(), received, up, now, options_.rx_watchdog);
    if (!sentence.empty()) fmt::print(stderr, "nearpmd: warning: {}\n", sentence);
  }
}

Status Engine::shut_down() {
  if (forwarding_) (void)stop();
  page_pool_use_qsbr(nullptr);
  Captures::wait_for(nullptr);
  workers_.reset();
  Status first;
  for (const auto& entry : ports_) {
    Port& port = *entry.second;
    if (port.state() == PortState::kStarted) {
      if (auto status = port.stop(); !status && first) first = status;
    }
  }
  // All are stopped before one is closed: a port's frames may lie in another's rings.
  for (const auto& entry : ports_) {
    Port& port = *entry.second;
    if (port.state() == PortState::kStopped) {
      if (auto status = port.close(); !status && first) first = status;
    }
  }
  flush_main_lcore();
  // What the ports held is home now, and a dying pool may have waited for it.
  dying_ = page_pool_service();
  return first;
}

// The main lcore frees pages too, when it stops ports and reaps.
void Engine::flush_main_lcore() const {
  for (const auto& entry : ports_) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (queue->buffers && queue->buffers->pool() != nullptr) {
        page_pool_flush_returns(queue->buffers->pool());
      }
    }
  }
}

Engine::~Engine() {
  (void)shut_down();
  ports_.clear();
  page_pool_service();
}

}  // namespace nearpool
