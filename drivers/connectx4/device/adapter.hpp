// SPDX-License-Identifier: BSD-3-Clause
// All ports of this process, the threads that work them, and the lock that control calls take.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine.hpp"
#include "link_monitor.hpp"
#include "port.hpp"
#include "run_config.hpp"

namespace nearpool::connectx4 {

class Adapter {
 public:
  // Made at the first call and never destroyed: device threads may outlive the program's own
  // objects.
  static Adapter& instance();

  const RunConfig& config() const { return config_; }
  std::vector<std::unique_ptr<PortDescription>>& descriptions() { return descriptions_; }

  // ---- under ControlLock ----

  // Throws std::system_error when there is no thread to be had for the port.
  void add(Port* port);
  void remove(Port* port);
  // Null when it is not open.
  Port* find(uint32_t index) const;
  const std::map<uint32_t, Port*>& ports() const { return ports_; }

  // Device threads stand still for ever; the process is about to end. Does nothing where there are
  // none: in a process that never asked for devices, or that was forked from the one that did.
  static void halt();

  // Applies the netdevs' states to the ports' links. Any thread, not under ControlLock.
  void refresh_links();

 private:
  friend class ControlLock;

  Adapter();
  void describe_ports();
  Engine& engine_for(const Port& port);
  void report(const Engine& engine) const;

  static std::atomic<Adapter*> made_;

  const pid_t process_;
  RunConfig config_;
  std::vector<std::unique_ptr<PortDescription>> descriptions_;
  std::mutex control_mutex_;
  std::map<uint32_t, Port*> ports_;
  std::map<uint32_t, std::unique_ptr<Engine>> engines_;  // by port, or all under 0
  std::unique_ptr<LinkMonitor> link_monitor_;
};

// While it lives, all device threads stand and no other control call runs.
class ControlLock {
 public:
  ControlLock();
  ~ControlLock();
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;

 private:
  Adapter& adapter_;
  std::unique_lock<std::mutex> lock_;
  std::vector<Engine*> paused_;
};

}  // namespace nearpool::connectx4
