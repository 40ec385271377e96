// SPDX-License-Identifier: BSD-3-Clause
// One port: its device, queues and their buffers. All of it belongs to the control thread; the
// lcores reach queues and counters through plans only.
#pragma once

#include <rte_ethdev.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/packet_memory.hpp"
#include "control/queue_map.hpp"
#include "control/sizing.hpp"
#include "datapath/counters.hpp"
#include "datapath/tx_queue.hpp"

struct rte_ring;

namespace nearpool {

struct RxQueue {
  QueueKey key;
  std::unique_ptr<QueueBuffers> buffers;
  QueueCounters counters;       // of the lcore that polls
  QueueCounters transmitter;    // redirect-cpu: of the lcore that transmits
  rte_ring* handoff = nullptr;  // redirect-cpu
  ~RxQueue();
};

// What the options and the program's shape ask of every port.
struct PortSettings {
  uint16_t rxq = 1, rxd = 1024;
  uint16_t txq = 1, txd = 1024;
  bool txq_chosen = false;  // --txq was given: fewer is an error, not a reason to share
  uint32_t max_pkt_len = 0;
  uint32_t frame_room = 2048;  // bytes of a frame that fit one page
  bool promiscuous = true;
  std::map<uint16_t, int> numa;
  // The node a queue's pool begins on: that of the lcore that will poll it, or kUnknownNode.
  std::function<int(QueueKey)> first_node;
};

enum class PortState { kClosed, kStopped, kStarted };

class Port {
 public:
  // Reads what the device offers and fits the settings to it.
  static Result<std::unique_ptr<Port>> open(uint16_t id, const PortSettings& settings);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Stopped port: other settings, which the next start() brings into force.
  Status change(const PortSettings& settings);
  // Sets up queues and their buffers if anything changed, then starts the device.
  Status start(PacketMemory& memory);
  // Nobody polls or sends any more.
  Status stop();
  // Stopped port: gives the device and its queues back; the buffers stay until the port goes.
  Status close();
  // Stopped port: sets the MTU and reads it back. It stays until another is set.
  Status change_mtu(uint16_t mtu);
  // rte_eth_dev_reset() of a stopped port; queues are set up again at the next start.
  Status reset();

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const std::string& driver() const { return driver_; }
  PortState state() const { return state_; }
  int node() const { return node_; }
  bool finite_input() const { return finite_input_; }
  // Frames may come in without their checksums, or with a word on them: the device was asked to
  // check them, or it is a link in software, which hands flags on as they are.
  bool lacks_checksums() const;
  uint64_t rx_offloads() const { return rx_offloads_; }
  uint64_t tx_offloads() const { return tx_offloads_; }
  bool exception() const;  // leads to the kernel: net_tap, net_virtio_user
  const PortShape& shape() const { return shape_; }
  const MacAddress& mac() const { return mac_; }
  rte_device* device() const { return device_; }
  // Comes into force at the next start if the port is not started.
  Status set_promiscuous(bool on);
  // Gives each RX queue a ring to the lcore that transmits for it (redirect-cpu).
  Status make_handoff_rings();
  // Frees what still waits in them and counts it; nobody uses them meanwhile.
  void drop_handed_over() const;

  const std::vector<std::unique_ptr<RxQueue>>& rx_queues() const { return rx_queues_; }
  const std::vector<std::unique_ptr<TxQueue>>& tx_queues() const { return tx_queues_; }
  // Frames of queues that were replaced when the port was set up again.
  const QueueTotals& earlier() const { return earlier_; }
  const QueueTotals& earlier_transmitted() const { return earlier_transmitted_; }
  // Statistics of the device; those of before it was closed if it is.
  rte_eth_stats stats() const;

 private:
  Port() = default;
  Status configure(PacketMemory& memory);
  Status fit(const PortSettings& settings);
  Status set_mtu();
  Status setup_rx(PacketMemory& memory, const rte_eth_dev_info& info, uint64_t offloads);
  Status setup_rx_queue(RxQueue& queue, uint16_t q, PacketMemory& memory,
                        const rte_eth_dev_info& info, uint64_t offloads);
  Status setup_tx(const rte_eth_dev_info& info, uint64_t offloads);
  void find_reap_method();
  void find_longest_frame();
  std::string empty_pools() const;
  void empty_link();

  uint16_t id_ = 0;
  std::string name_, driver_;
  rte_device* device_ = nullptr;
  int node_ = kUnknownNode;
  bool finite_input_ = false;
  bool configured_ = false;  // as settings_ say
  bool known_ = false;       // the device has been configured once
  uint32_t own_length_ = 0;  // longest frame, as chosen for this port alone; 0: it was not
  uint64_t rx_offloads_ = 0, tx_offloads_ = 0;  // that are on
  bool mapped_ = false;
  PacketMemory* memory_ = nullptr;
  PortState state_ = PortState::kStopped;
  PortSettings settings_;
  PortShape shape_;
  MacAddress mac_{};
  rte_eth_stats last_stats_{};
  QueueTotals earlier_, earlier_transmitted_;
  std::vector<std::unique_ptr<RxQueue>> rx_queues_;
  // Queues that a setting-up which failed half-way may have left in the device.
  std::vector<std::unique_ptr<RxQueue>> replaced_;
  std::vector<std::unique_ptr<TxQueue>> tx_queues_;
};

// Whether these device arguments of net_pcap replay files to their end.
bool pcap_input_is_finite(const std::string& arguments);

}  // namespace nearpool
