// SPDX-License-Identifier: BSD-3-Clause
#include "control/port.hpp"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ring.h>

#include <algorithm>
#include <cstring>

#include "control/port_config.hpp"
#include "datapath/checksum.hpp"
#include "datapath/frame.hpp"

namespace nearpool {
namespace {

// Hands mbufs on as they are, from the TX side to the RX side.
constexpr char kLinkDriver[] = "net_ring";
constexpr uint16_t kLinkBurst = 32;
constexpr char kTapDriver[] = "net_tap";

}  // namespace

RxQueue::~RxQueue() {
  rte_ring_free(handoff);
}

bool pcap_input_is_finite(const std::string& arguments) {
  return arguments.find("rx_pcap=") != std::string::npos &&
         arguments.find("infinite_rx=1") == std::string::npos;
}

Result<std::unique_ptr<Port>> Port::open(uint16_t id, const PortSettings& settings) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) {
    return failure("port {}: the device does not say what it offers: {}", id, rte_strerror(-error));
  }
  std::unique_ptr<Port> port(new Port);
  port->id_ = id;
  port->device_ = info.device;
  port->driver_ = info.driver_name;
  port->name_ = rte_dev_name(info.device);
  port->node_ = rte_eth_dev_socket_id(id);
  if (port->node_ < 0) port->node_ = kUnknownNode;
  const rte_devargs* arguments = rte_dev_devargs(info.device);
  port->finite_input_ = port->driver_ == "net_pcap" && arguments != nullptr &&
                        arguments->args != nullptr && pcap_input_is_finite(arguments->args);
  rte_ether_addr address;
  if (rte_eth_macaddr_get(id, &address) == 0) {
    std::memcpy(port->mac_.data(), address.addr_bytes, port->mac_.size());
  }
  if (auto status = port->fit(settings); !status) return tl::unexpected(status.error());
  return port;
}

Port::~Port() {
  if (state_ == PortState::kStarted) (void)stop();
  if (state_ == PortState::kStopped) (void)close();
}

Status Port::fit(const PortSettings& settings) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    return failure("port {}: the device does not say what it offers: {}", id_,
                   rte_strerror(-error));
  }
  auto shape = fit_shape(id_, driver_, info, settings);
  if (!shape) return tl::unexpected(shape.error());
  settings_ = settings;
  shape_ = *shape;
  if (const auto chosen = settings.numa.find(id_); chosen != settings.numa.end()) {
    node_ = chosen->second;
  }
  configured_ = false;
  return {};
}

Status Port::change(const PortSettings& settings) {
  if (state_ != PortState::kStopped) {
    return failure("port {} is {}: stop it before it is configured", id_,
                   state_ == PortState::kStarted ? "started" : "closed");
  }
  PortSettings wanted = settings;
  if (own_length_ != 0) wanted.max_pkt_len = own_length_;
  return fit(wanted);
}

bool Port::lacks_checksums() const {
  return (rx_offloads_ & kRxChecksumOffloads) != 0 || driver_ == kLinkDriver;
}

bool Port::exception() const {
  return driver_ == kTapDriver || driver_ == "net_virtio_user";
}

Status Port::configure(PacketMemory& memory) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    return failure("port {}: the device does not say what it offers: {}", id_,
                   rte_strerror(-error));
  }
  memory_ = &memory;
  if (!mapped_) {
    if (auto status = memory.map_for(device_); !status) return status;
    mapped_ = true;
  }
  const rte_eth_conf conf = port_conf(info, settings_, shape_);
  if (const int error = rte_eth_dev_configure(id_, static_cast<uint16_t>(shape_.rxq),
                                              static_cast<uint16_t>(shape_.txq), &conf);
      error != 0) {
    return failure(
        "port {} ({}) refuses {} RX queues and {} TX queues: {}; see --rxq, --txq and "
        "--max-pkt-len",
        id_, name_, shape_.rxq, shape_.txq, rte_strerror(-error));
  }
  known_ = true;
  rx_offloads_ = conf.rxmode.offloads;
  tx_offloads_ = conf.txmode.offloads;
  if (auto status = set_mtu(); !status) return status;
  if (auto status = setup_rx(memory, info, conf.rxmode.offloads); !status) return status;
  if (auto status = setup_tx(info, conf.txmode.offloads); !status) return status;
  configured_ = true;
  return {};
}

Status Port::set_mtu() {
  if (settings_.max_pkt_len == 0) return {};
  const auto mtu = static_cast<uint16_t>(settings_.max_pkt_len - kFrameOverhead);
  const int error = rte_eth_dev_set_mtu(id_, mtu);
  // Devices without an MTU of their own take frames of any length.
  if (error == -ENOTSUP) return {};
  uint16_t got = 0;
  if (error == 0 && rte_eth_dev_get_mtu(id_, &got) == 0 && got == mtu) return {};
  return failure("port {} ({}) refuses frames of {} bytes (an MTU of {}): {}; lower --max-pkt-len",
                 id_, name_, settings_.max_pkt_len, mtu,
                 error != 0 ? rte_strerror(-error) : "the device keeps another");
}

Status Port::change_mtu(uint16_t mtu) {
  if (state_ != PortState::kStopped) {
    return failure("port {} is {}: stop it before its MTU is changed", id_,
                   state_ == PortState::kStarted ? "started" : "closed");
  }
  const PortSettings before = settings_;
  PortSettings wanted = settings_;
  wanted.max_pkt_len = mtu + kFrameOverhead;
  if (auto status = fit(wanted); !status) {
    return failure("port {}: an MTU of {} makes frames of {} bytes, and {}", id_, mtu,
                   wanted.max_pkt_len, status.error());
  }
  // A device that has never been configured takes none: it gets this one with the rest.
  int error = 0;
  uint16_t got = mtu;
  if (known_) error = rte_eth_dev_set_mtu(id_, mtu);
  if (known_ && error == 0) rte_eth_dev_get_mtu(id_, &got);
  if (error == 0 && got == mtu) {
    own_length_ = wanted.max_pkt_len;
    return {};
  }
  (void)fit(before);  // what was good is still
  return failure("port {} ({}) refuses an MTU of {}: {}", id_, name_, mtu,
                 error != 0 ? rte_strerror(-error) : "the device keeps another");
}

Status Port::setup_rx(PacketMemory& memory, const rte_eth_dev_info& info, uint64_t offloads) {
  for (auto& queue : rx_queues_) {
    earlier_.add(queue->counters);
    earlier_transmitted_.add(queue->transmitter);
    replaced_.push_back(std::move(queue));
  }
  rx_queues_.clear();
  for (uint16_t q = 0; q < shape_.rxq; q++) {
    rx_queues_.push_back(std::make_unique<RxQueue>());
    if (auto status = setup_rx_queue(*rx_queues_.back(), q, memory, info, offloads); !status) {
      return status;
    }
  }
  replaced_.clear();
  return {};
}

Status Port::setup_rx_queue(RxQueue& queue, uint16_t q, PacketMemory& memory,
                            const rte_eth_dev_info& info, uint64_t offloads) {
  queue.key = {id_, q};
  const int node = settings_.first_node ? settings_.first_node(queue.key) : node_;
  auto buffers = memory.make(fmt::format("p{}q{}", id_, q), node);
  if (!buffers) return tl::unexpected(buffers.error());
  queue.buffers = std::move(*buffers);
  const std::string pool = queue.buffers->books().name;
  rte_eth_rxconf conf = info.default_rxconf;
  conf.offloads = offloads;
  const int error = rte_eth_rx_queue_setup(id_, q, static_cast<uint16_t>(shape_.rxd),
                                           static_cast<unsigned>(socket_of(node_)), &conf,
                                           queue.buffers->mempool());
  if (error != 0) {
    return failure(
        "port {} ({}): RX queue {} of {} descriptors on pool {} is refused: {}; its ring needs {} "
        "pages, and there are {} free of {} per node; see --rxd, --mbuf-size and --total-num-pages",
        id_, name_, q, shape_.rxd, pool, rte_strerror(-error), shape_.rxd, memory.free_pages(),
        memory.pages_per_node());
  }
  return {};
}

Status Port::make_handoff_rings() {
  for (const auto& queue : rx_queues_) {
    if (queue->handoff != nullptr) continue;
    queue->handoff =
        rte_ring_create(fmt::format("handoff_{}", queue->buffers->books().name).c_str(),
                        kHandoffRing, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (queue->handoff == nullptr) {
      return failure("port {} queue {}: no memory for the hand-over ring of {} frames", id_,
                     queue->key.queue, kHandoffRing);
    }
  }
  return {};
}

void Port::drop_handed_over() const {
  for (const auto& queue : rx_queues_) {
    void* frame = nullptr;
    while (queue->handoff != nullptr && rte_ring_dequeue(queue->handoff, &frame) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
      queue->transmitter.received.add(1);
      queue->transmitter.no_route.add(1);
    }
    // None, if setting the port up failed here.
    if (queue->buffers && queue->buffers->pool() != nullptr) {
      page_pool_flush_returns(queue->buffers->pool());
    }
  }
}

Status Port::setup_tx(const rte_eth_dev_info& info, uint64_t offloads) {
  std::vector<std::unique_ptr<TxQueue>> queues;
  for (uint16_t q = 0; q < shape_.txq; q++) {
    rte_eth_txconf conf = info.default_txconf;
    conf.offloads = offloads;
    const int error = rte_eth_tx_queue_setup(id_, q, static_cast<uint16_t>(shape_.txd),
                                             static_cast<unsigned>(socket_of(node_)), &conf);
    if (error != 0) {
      return failure("port {} ({}): TX queue {} of {} descriptors is refused: {}; see --txd", id_,
                     name_, q, shape_.txd, rte_strerror(-error));
    }
    auto queue = std::make_unique<TxQueue>();
    queue->port = id_;
    queue->queue = q;
    queue->offloads = offloads;
    queues.push_back(std::move(queue));
  }
  tx_queues_ = std::move(queues);
  return {};
}

Status Port::start(PacketMemory& memory) {
  if (state_ == PortState::kStarted) return failure("port {} is started already", id_);
  if (state_ == PortState::kClosed) {
    return failure("port {} is closed: detach it and attach it again", id_);
  }
  if (!configured_) {
    if (auto status = configure(memory); !status) return status;
  }
  if (const int error = rte_eth_dev_start(id_); error != 0) {
    return failure(
        "port {} ({}) does not start: {}; {}where a driver fills its rings at start, each queue's "
        "pool needs {} pages, and there are {} per node (--total-num-pages)",
        id_, name_, rte_strerror(-error), empty_pools(), shape_.rxd, memory.pages_per_node());
  }
  state_ = PortState::kStarted;
  // A device without such a mode has nothing to filter.
  if (const int error = settings_.promiscuous ? rte_eth_promiscuous_enable(id_)
                                              : rte_eth_promiscuous_disable(id_);
      error != 0 && error != -ENOTSUP) {
    fmt::print(stderr, "nearpmd: port {}: promiscuous mode stays as it is: {}\n", id_,
               rte_strerror(-error));
  }
  find_reap_method();
  find_longest_frame();
  return {};
}

// The pools that had no page for a driver that wanted one; a driver itself says ENOMEM at most.
std::string Port::empty_pools() const {
  std::string names;
  for (const auto& queue : rx_queues_) {
    page_pool_stats stats{};
    if (queue->buffers->pool() != nullptr) page_pool_get_stats(queue->buffers->pool(), &stats);
    if (stats.alloc_failed != 0) {
      names +=
          fmt::format("pool {} of RX queue {} had no page left; ", stats.name, queue->key.queue);
    }
  }
  return names;
}

void Port::find_reap_method() {
  for (const auto& queue : tx_queues_) {
    if (rte_eth_tx_done_cleanup(id_, queue->queue, 0) >= 0) {
      queue->reap = ReapMethod::kDoneCleanup;
    } else if (rte_eth_tx_descriptor_status(id_, queue->queue, 0) >= 0) {
      queue->reap = ReapMethod::kDescriptorStatus;
    } else {
      queue->reap = ReapMethod::kNone;
    }
  }
}

// Other drivers drop a frame that is too long and go on, or take any.
void Port::find_longest_frame() {
  uint16_t mtu = 0;
  if (driver_ != kTapDriver || rte_eth_dev_get_mtu(id_, &mtu) != 0) return;
  for (const auto& queue : tx_queues_)
    queue->longest = mtu + kFrameOverhead + kVlanTag;
}

Status Port::set_promiscuous(bool on) {
  if (state_ == PortState::kClosed) {
    return failure("port {} is closed: detach it and attach it again", id_);
  }
  settings_.promiscuous = on;
  if (state_ != PortState::kStarted) return {};
  const int error = on ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
  if (error == 0) return {};
  return failure("port {} ({}): promiscuous mode cannot be switched {}: {}", id_, name_,
                 on ? "on" : "off", rte_strerror(-error));
}

// A link in software keeps what was sent into it, and when it is closed forgets it.
void Port::empty_link() {
  rte_mbuf* burst[kLinkBurst];
  for (const auto& queue : rx_queues_) {
    for (uint16_t count;
         (count = rte_eth_rx_burst(id_, queue->key.queue, burst, kLinkBurst)) != 0;) {
      rte_pktmbuf_free_bulk(burst, count);
      queue->counters.flushed.add(count);
    }
  }
}

Status Port::stop() {
  if (state_ != PortState::kStarted) return failure("port {} is not started", id_);
  if (driver_ == kLinkDriver) empty_link();
  if (const int error = rte_eth_dev_stop(id_); error != 0) {
    return failure("port {} ({}) does not stop: {}", id_, name_, rte_strerror(-error));
  }
  state_ = PortState::kStopped;
  return {};
}

Status Port::close() {
  if (state_ != PortState::kStopped) {
    return failure("port {} is {}", id_,
                   state_ == PortState::kStarted ? "started: stop it first" : "closed already");
  }
  last_stats_ = stats();
  if (mapped_) memory_->unmap_for(device_);
  mapped_ = false;
  if (const int error = rte_eth_dev_close(id_); error != 0) {
    return failure("port {} ({}) does not close: {}", id_, name_, rte_strerror(-error));
  }
  state_ = PortState::kClosed;
  configured_ = false;
  return {};
}

Status Port::reset() {
  if (state_ != PortState::kStopped) {
    return failure("port {} is {}", id_,
                   state_ == PortState::kStarted ? "started: stop it first" : "closed");
  }
  if (const int error = rte_eth_dev_reset(id_); error != 0) {
    return failure("port {} ({}) cannot be reset: {}", id_, name_, rte_strerror(-error));
  }
  configured_ = false;
  return {};
}

rte_eth_stats Port::stats() const {
  if (state_ == PortState::kClosed) return last_stats_;
  rte_eth_stats stats{};
  rte_eth_stats_get(id_, &stats);
  return stats;
}

}  // namespace nearpool
