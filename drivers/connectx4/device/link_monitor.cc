// SPDX-License-Identifier: BSD-3-Clause
#include "link_monitor.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "adapter.hpp"
#include "clock.hpp"
#include "quiet_thread.hpp"

namespace nearpool::connectx4 {

LinkMonitor::LinkMonitor() {
  stop_ = eventfd(0, EFD_CLOEXEC);
  netlink_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  bind(netlink_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  plan_flaps();
  try {
    thread_ = start_quiet_thread([this] { run(); });
  } catch (...) {
    close(netlink_);
    close(stop_);
    throw;
  }
}

LinkMonitor::~LinkMonitor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
  thread_.join();
  close(netlink_);
  close(stop_);
}

void LinkMonitor::plan_flaps() {
  const RunConfig& config = Adapter::instance().config();
  const uint64_t now = now_nanoseconds();
  for (const Fault& fault : config.faults) {
    if (fault.kind != FaultKind::kFlap) continue;
    for (uint32_t port = 0; port < config.ports.size(); ++port) {
      if (fault.port != Fault::kAny && fault.port != port) continue;
      const uint64_t begin = now + fault.at * kNanosecondsPerMillisecond;
      flaps_.push_back({port, begin, true});
      flaps_.push_back({port, begin + fault.milliseconds * kNanosecondsPerMillisecond, false});
    }
  }
  std::sort(flaps_.begin(), flaps_.end(), [](const Flap& a, const Flap& b) { return a.at > b.at; });
}

int LinkMonitor::run_flaps() {
  while (!flaps_.empty()) {
    const Flap& flap = flaps_.back();
    const uint64_t now = now_nanoseconds();
    if (flap.at > now) {
      return static_cast<int>((flap.at - now) / kNanosecondsPerMillisecond) + 1;
    }
    {
      ControlLock lock;
      Port* port = Adapter::instance().find(flap.port);
      if (port != nullptr) port->force_link_down(flap.down);
    }
    Adapter::instance().refresh_links();
    flaps_.pop_back();
  }
  return -1;
}

void LinkMonitor::drain_netlink() const {
  // What has changed is asked from the netdevs themselves: a message may have been lost.
  std::array<char, 8192> buffer;
  while (recv(netlink_, buffer.data(), buffer.size(), 0) > 0) {}
}

void LinkMonitor::run() {
  pthread_setname_np(pthread_self(), "connectx4-link");
  for (;;) {
    const int timeout = run_flaps();
    std::array<pollfd, 2> waits{{{netlink_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    poll(waits.data(), waits.size(), timeout);
    if ((waits[1].revents & POLLIN) != 0) return;
    if (waits[0].revents != 0) {
      drain_netlink();
      Adapter::instance().refresh_links();
    }
  }
}

}  // namespace nearpool::connectx4
