// SPDX-License-Identifier: BSD-3-Clause
// The program's state: ports, their memory, the lcores, and who polls what. Control thread only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/packet_memory.hpp"
#include "control/plans.hpp"
#include "control/port.hpp"
#include "control/queue_board.hpp"
#include "control/rx_watchdog.hpp"
#include "control/worker_set.hpp"

namespace nearpool {

class Engine {
 public:
  // The EAL is up. Opens the ports that the EAL found, makes their memory, starts the lcores.
  static Result<std::unique_ptr<Engine>> create(const Options& options);
  // Stops and closes everything that still runs.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Forwarding. Options that changed since the last start come into force.
  Status start(unsigned tx_first_bursts);
  Status stop();
  bool forwarding() const { return forwarding_; }
  // Stops forwarding, ends the lcores, stops and closes the ports. The books can be read then.
  Status shut_down();

  // Ports; allowed while others forward.
  Status start_ports();
  Status start_port(uint16_t id);
  Status stop_port(uint16_t id);
  Status close_port(uint16_t id);
  Status reset_port(uint16_t id);
  Result<std::vector<uint16_t>> attach(const std::string& identifier);
  // Its device goes, and with it all ports of that device, which it returns.
  Result<std::vector<uint16_t>> detach(uint16_t id);
  // All ports stopped: brings the options' numbers of queues and descriptors to them.
  Status reconfigure();

  // While traffic flows.
  Status move(QueueKey key, unsigned lcore);
  unsigned owner(QueueKey key) const;

  // About ten times a second: pools' housekeeping, TX rings of a stopped program.
  void tick();
  unsigned dying() const { return dying_; }
  // How long the pool with this id has been dying, as far as tick() saw it.
  double dying_seconds(uint32_t pool) const;

  // What the next start will take up; in_force() is what runs now.
  Options& options() { return options_; }
  const Options& options() const { return options_; }
  const Options& in_force() const { return forwarding_ ? in_force_ : options_; }
  // Pools that are made from now on have the options' switches.
  void pool_options_changed() { memory_->set_pool_options(options_.pool); }
  const std::map<uint16_t, std::unique_ptr<Port>>& ports() const { return ports_; }
  std::vector<Port*> ports_in_use() const { return ports_of(in_force()); }
  std::vector<Port*> ports_of(const Options& options) const;
  Result<Port*> find_port(uint16_t id) const;
  Result<RxQueue*> find_queue(QueueKey key) const;
  const WorkerSet* workers() const { return workers_.get(); }
  const PacketMemory* memory() const { return memory_.get(); }
  Sizing sizing() const;
  std::vector<LcorePlace> forwarding_lcores() const { return lcores_of(in_force()); }
  std::vector<LcorePlace> lcores_of(const Options& options) const;

 private:
  explicit Engine(const Options& options);
  Status open_ports();
  Status check_options() const;
  Status check_ports_named(const std::vector<uint16_t>& ids) const;
  Status make_memory();
  PortSettings settings() const;
  // Whether queues stay with the lcore they are on, or only those that were moved there.
  enum class Assignment { kStays, kAnew };
  void assign(Assignment how);
  // @param drain  poll nothing, only transmit what was handed over
  void publish(bool drain = false);
  void drain_handoffs();
  void flush_rx(Port& port) const;
  void flush_main_lcore() const;
  void warn_at_start() const;
  void warn_of_memlock() const;
  void watch_rx();
  void note_dying();
  void leave_alone(uint16_t id);
  void forget(uint16_t id);
  void forget_closed(uint16_t id);

  Options options_;
  Options in_force_;
  std::unique_ptr<PacketMemory> memory_;
  std::map<uint16_t, std::unique_ptr<Port>> ports_;
  std::unique_ptr<WorkerSet> workers_;
  Owners owners_;
  std::set<QueueKey> moved_;
  std::set<uint16_t> quiet_;
  bool forwarding_ = false;
  unsigned dying_ = 0;
  QueueBoard& board_;
  std::map<uint32_t, uint64_t> dying_since_;  // pool id to TSC
  RxWatchdog watchdog_;
};

// Sends `bursts` bursts of 64-byte UDP frames from each TX queue of `port`; nobody else sends on
// it. @return frames sent.
uint64_t send_first(const Port& port, const Options& options, unsigned bursts);

}  // namespace nearpool
