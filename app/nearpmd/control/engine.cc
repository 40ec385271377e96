// SPDX-License-Identifier: BSD-3-Clause
#include "control/engine.hpp"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <sched.h>

#include <algorithm>

#include "control/captures.hpp"
#include "control/devices.hpp"
#include "control/memlock.hpp"

namespace nearpool {
namespace {

// What was handed to another lcore is transmitted within this time after a stop, or dropped.
constexpr double kDrainSeconds = 1.0;

std::vector<unsigned> worker_lcores() {
  std::vector<unsigned> lcores;
  unsigned lcore;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    lcores.push_back(lcore);
  }
  return lcores;
}

// Never destroyed: telemetry may ask to the very end.
QueueBoard& queue_board() {
  static QueueBoard* const board = [] {
    auto* made = new QueueBoard;
    answer_telemetry_from(*made);
    return made;
  }();
  return *board;
}

}  // namespace

Engine::Engine(const Options& options) : options_(options), board_(queue_board()) {
}

Result<std::unique_ptr<Engine>> Engine::create(const Options& options) {
  std::unique_ptr<Engine> engine(new Engine(options));
  auto ready = engine->check_options().and_then([&] { return engine->open_ports(); }).and_then([&] {
    return engine->make_memory();
  });
  if (!ready) return tl::unexpected(ready.error());
  auto workers = WorkerSet::launch(worker_lcores());
  if (!workers) return tl::unexpected(workers.error());
  engine->workers_ = std::move(*workers);
  page_pool_use_qsbr(engine->workers_->qsbr());
  Captures::wait_for(engine->workers_->qsbr());
  return engine;
}

Status Engine::check_options() const {
  const auto lcores = worker_lcores();
  if (lcores.empty()) {
    return failure(
        "there is only the main lcore, which runs the prompt: give the EAL one more, as in -l 0,1");
  }
  for (const uint16_t lcore : options_.corelist) {
    if (std::find(lcores.begin(), lcores.end(), lcore) == lcores.end()) {
      return failure("--corelist {}: lcore {} is {}; forwarding lcores are among {}", lcore, lcore,
                     lcore == rte_get_main_lcore() ? "the main lcore" : "not one of the EAL's",
                     list_of(lcores));
    }
  }
  if (options_.nb_cores > lcores.size()) {
    return failure("--nb-cores {}: the EAL has {} lcores besides the main one (-l)",
                   options_.nb_cores, lcores.size());
  }
  return {};
}

Status Engine::open_ports() {
  uint16_t id;
  std::vector<uint16_t> ids;
  RTE_ETH_FOREACH_DEV(id) ids.push_back(id);
  if (auto status = check_devices_asked_for(); !status) return status;
  if (ids.empty()) {
    return failure(
        "no port was found: name one with -a PCI_ADDRESS or --vdev, and see that its driver can "
        "reach it (mlx5 needs rdma-core and the kernel's mlx5_ib)");
  }
  for (const uint16_t wanted : options_.portlist) {
    if (std::find(ids.begin(), ids.end(), wanted) == ids.end()) {
      return failure("--portlist {}: there is no port {}; ports are {}", wanted, wanted,
                     list_of(ids));
    }
  }
  for (const uint16_t port : ids) {
    auto opened = Port::open(port, settings());
    if (!opened) return tl::unexpected(opened.error());
    ports_[port] = std::move(*opened);
  }
  return check_ports_named(ids);
}

// Ports that options name and that are not there.
Status Engine::check_ports_named(const std::vector<uint16_t>& ids) const {
  const auto known = [&](const char* option, uint16_t port) -> Status {
    if (ports_.count(port) != 0) return {};
    return failure("{} {}: there is no port {}; ports are {}", option, port, port, list_of(ids));
  };
  for (const auto& entry : options_.port_numa) {
    if (auto status = known("--port-numa-config", entry.first); !status) return status;
  }
  for (const auto& entry : options_.eth_peer) {
    if (auto status = known("--eth-peer", entry.first); !status) return status;
  }
  for (const auto& [port, exception] : options_.pass_map) {
    if (auto status = known("--pass-map", port); !status) return status;
    if (auto status = known("--pass-map", exception); !status) return status;
  }
  return {};
}

// Of the ports as they are now: some may have come since, or have more queues.
Sizing Engine::sizing() const {
  std::vector<PortShape> port_shapes;
  for (const auto& entry : ports_)
    port_shapes.push_back(entry.second->shape());
  SizingInput input;
  input.ports = port_shapes;
  input.lcores = static_cast<uint32_t>(forwarding_lcores().size());
  input.burst = options_.burst;
  input.cache = options_.pool.cache;
  input.bulk = options_.pool.bulk;
  input.handoff = options_.verdict == Verdict::kRedirectCpu || options_.interactive;
  input.stock = options_.pool.ops != "page_pool";
  return size_pages(input);
}

Status Engine::make_memory() {
  // --no-huge is the EAL's own: a place without hugepages has none for the arena either.
  if (rte_eal_has_hugepages() == 0) options_.arena.no_huge = true;
  std::set<int> nodes;
  for (const unsigned lcore : worker_lcores())
    nodes.insert(page_pool_lcore_node(lcore));
  auto memory =
      PacketMemory::create(options_, sizing(), std::vector<int>(nodes.begin(), nodes.end()));
  if (!memory) return tl::unexpected(memory.error());
  memory_ = std::move(*memory);
  warn_of_memlock();
  assign(Assignment::kAnew);
  return {};
}

PortSettings Engine::settings() const {
  PortSettings settings;
  settings.rxq = options_.rxq;
  settings.rxd = options_.rxd;
  settings.txd = options_.txd;
  settings.txq_chosen = options_.txq != 0;
  settings.txq =
      settings.txq_chosen ? options_.txq : static_cast<uint16_t>(forwarding_lcores().size());
  settings.max_pkt_len = options_.max_pkt_len;
  settings.frame_room = options_.arena.mbuf_size - RTE_PKTMBUF_HEADROOM;
  settings.promiscuous = options_.promiscuous;
  settings.numa = options_.port_numa;
  settings.first_node = [this](QueueKey key) {
    const unsigned lcore = owner(key);
    return lcore == kNoLcore ? kUnknownNode : page_pool_lcore_node(lcore);
  };
  return settings;
}

std::vector<LcorePlace> Engine::lcores_of(const Options& options) const {
  std::vector<LcorePlace> places;
  const auto add = [&](unsigned lcore) {
    if (options.nb_cores == 0 || places.size() < options.nb_cores) {
      places.push_back({lcore, page_pool_lcore_node(lcore)});
    }
  };
  if (options.corelist.empty()) {
    for (const unsigned lcore : worker_lcores())
      add(lcore);
  } else {
    for (const uint16_t lcore : options.corelist)
      add(lcore);
  }
  return places;
}

std::vector<Port*> Engine::ports_of(const Options& options) const {
  std::vector<Port*> ports;
  for (const auto& [id, port] : ports_) {
    const auto& list = options.portlist;
    if (list.empty() || std::find(list.begin(), list.end(), id) != list.end()) {
      ports.push_back(port.get());
    }
  }
  return ports;
}

void Engine::assign(Assignment how) {
  std::vector<QueuePlace> queues;
  for (const Port* port : ports_in_use()) {
    for (uint16_t q = 0; q < port->shape().rxq; q++) {
      queues.push_back({{port->id(), q}, port->node()});
    }
  }
  const auto lcores = forwarding_lcores();
  const auto assigned = assign_queues(queues, lcores);
  Owners owners;
  for (size_t i = 0; i < queues.size(); i++) {
    const auto before = owners_.find(queues[i].key);
    const bool may_stay = how == Assignment::kStays || moved_.count(queues[i].key) != 0;
    // As long as that lcore forwards.
    const bool stays = may_stay && before != owners_.end() &&
                       std::any_of(lcores.begin(), lcores.end(), [&](const LcorePlace& place) {
                         return place.lcore == before->second;
                       });
    owners[queues[i].key] = stays ? before->second : assigned[i];
  }
  owners_ = std::move(owners);
}

unsigned Engine::owner(QueueKey key) const {
  const auto found = owners_.find(key);
  return found == owners_.end() ? kNoLcore : found->second;
}

void Engine::publish(bool drain) {
  const auto ports = ports_in_use();
  const auto lcores = forwarding_lcores();
  PlanInput input;
  input.ports = ports;
  input.lcores = lcores;
  input.owners = &owners_;
  input.options = &in_force();
  input.quiet = &quiet_;
  input.drain = drain;
  workers_->publish(build_plans(input));
}

void Engine::warn_of_memlock() const {
  const bool hardware = std::any_of(ports_.begin(), ports_.end(), [](const auto& entry) {
    return is_hardware(entry.second->device());
  });
  const std::string sentence = hardware ? memlock_warning(memory_->data_bytes()) : "";
  if (!sentence.empty()) fmt::print(stderr, "nearpmd: warning: {}\n", sentence);
}

void Engine::warn_at_start() const {
  const std::string sizes = sizing_warning(sizing(), memory_->pages_per_node());
  if (!sizes.empty()) fmt::print(stderr, "nearpmd: warning: {}\n", sizes);
  std::vector<QueuePlace> queues;
  for (const Port* port : ports_in_use())
    queues.push_back({{port->id(), 0}, port->node()});
  for (const uint16_t port : ports_without_near_lcore(queues, forwarding_lcores())) {
    fmt::print(
        stderr,
        "nearpmd: warning: port {} is on node {}, which has no forwarding lcore: it is polled "
        "from another node, which may cost speed (-l)\n",
        port, ports_.at(port)->node());
  }
}

Status Engine::start(unsigned tx_first_bursts) {
  if (forwarding_) return failure("forwarding runs already: stop it first");
  const auto ports = ports_in_use();
  const auto started = [](const Port* port) { return port->state() == PortState::kStarted; };
  if (std::none_of(ports.begin(), ports.end(), started)) {
    if (options_.portlist.empty()) return failure("no port is started: port start all");
    return failure(
        "no port of those in use ({}) is started: port start all, or set portlist for others",
        list_of(options_.portlist));
  }
  assign(Assignment::kAnew);
  warn_at_start();
  auto polls = Captures::control_thread_polls();
  for (Port* port : ports) {
    if (!started(port)) continue;
    if (options_.verdict == Verdict::kRedirectCpu) {
      if (auto status = port->make_handoff_rings(); !status) return status;
    }
    if (!options_.no_flush_rx && !port->finite_input()) flush_rx(*port);
  }
  share_tx_queues(ports, forwarding_lcores().size());
  for (const Port* port : ports) {
    if (tx_first_bursts == 0 || !started(port)) continue;
    const uint64_t sent = send_first(*port, options_, tx_first_bursts);
    fmt::print("port {}: {} frames sent first\n", port->id(), sent);
  }
  polls.unlock();
  in_force_ = options_;
  forwarding_ = true;
  publish();
  return {};
}

void Engine::flush_rx(Port& port) const {
  rte_mbuf* burst[kMaxBurst];
  for (const auto& queue : port.rx_queues()) {
    // No more than a ring holds: some devices never run dry.
    for (uint32_t seen = 0; seen < port.shape().rxd;) {
      const uint16_t count =
          rte_eth_rx_burst(queue->key.port, queue->key.queue, burst, options_.burst);
      if (count == 0) break;
      rte_pktmbuf_free_bulk(burst, count);
      queue->counters.flushed.add(count);
      seen += count;
    }
    if (queue->buffers->pool() != nullptr) page_pool_flush_returns(queue->buffers->pool());
  }
}

Status Engine::stop() {
  if (!forwarding_) return failure("forwarding does not run: start it first");
  if (in_force_.verdict == Verdict::kRedirectCpu) drain_handoffs();
  workers_->idle();
  forwarding_ = false;
  return {};
}

void Engine::drain_handoffs() {
  const auto ports = ports_in_use();
  publish(true);
  const uint64_t deadline =
      rte_get_tsc_cycles() + static_cast<uint64_t>(kDrainSeconds * rte_get_tsc_hz());
  const auto waiting = [&] {
    unsigned frames = 0;
    for (const Port* port : ports) {
      for (const auto& queue : port->rx_queues()) {
        if (queue->handoff != nullptr) frames += rte_ring_count(queue->handoff);
      }
    }
    return frames;
  };
  while (waiting() != 0 && rte_get_tsc_cycles() < deadline)
    rte_pause();
  workers_->idle();
  for (const Port* port : ports)
    port->drop_handed_over();
}

Status Engine::move(QueueKey key, unsigned lcore) {
  if (auto queue = find_queue(key); !queue) return tl::unexpected(queue.error());
  const auto lcores = forwarding_lcores();
  if (std::none_of(lcores.begin(), lcores.end(),
                   [&](const LcorePlace& place) { return place.lcore == lcore; })) {
    std::vector<unsigned> ids;
    for (const LcorePlace& place : lcores)
      ids.push_back(place.lcore);
    return failure("lcore {} does not forward: forwarding lcores are {}", lcore, list_of(ids));
  }
  std::vector<uint16_t> in_use;
  for (const Port* port : ports_in_use())
    in_use.push_back(port->id());
  if (std::find(in_use.begin(), in_use.end(), key.port) == in_use.end()) {
    return failure("port {} is not in use: ports in use are {} (--portlist)", key.port,
                   list_of(in_use));
  }
  owners_[key] = lcore;
  moved_.insert(key);
  if (forwarding_) publish();
  return {};
}

}  // namespace nearpool
