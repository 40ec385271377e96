// SPDX-License-Identifier: BSD-3-Clause
// Watches the control netdevs: a change of state or MTU takes effect on the port, whoever made it.
// Also the clock of the link flaps that the run's options ask for.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace nearpool::connectx4 {

class LinkMonitor {
 public:
  LinkMonitor();
  ~LinkMonitor();
  LinkMonitor(const LinkMonitor&) = delete;
  LinkMonitor& operator=(const LinkMonitor&) = delete;

 private:
  struct Flap {
    uint32_t port = 0;
    uint64_t at = 0;  // nanoseconds
    bool down = false;
  };

  void run();
  void plan_flaps();
  // Milliseconds until the next flap is due; -1: none.
  int run_flaps();
  void drain_netlink() const;

  int netlink_ = -1;
  int stop_ = -1;
  std::vector<Flap> flaps_;
  std::thread thread_;
};

}  // namespace nearpool::connectx4
