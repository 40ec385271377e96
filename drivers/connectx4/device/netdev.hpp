// SPDX-License-Identifier: BSD-3-Clause
// The control netdev of a port: a tap interface that the launcher made. The PMD asks it for link
// state, MTU and address as it asks the kernel's netdev of a real port.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace nearpool::connectx4 {

class Netdev {
 public:
  Netdev() = default;
  ~Netdev();
  Netdev(const Netdev&) = delete;
  Netdev& operator=(const Netdev&) = delete;

  // Attaches to the tap interface, which gives it a carrier. False with a sentence.
  bool attach(const std::string& name, std::string& error);

  // Reads flags and MTU anew.
  void refresh();
  void set_carrier(bool on);

  const std::string& name() const { return name_; }
  int index() const { return index_; }
  // Frames that the kernel sends to the interface are read here, and written here to reach it.
  int tap() const { return tap_; }
  bool up() const { return up_.load(std::memory_order_relaxed); }
  uint32_t mtu() const { return mtu_.load(std::memory_order_relaxed); }

 private:
  std::string name_;
  int tap_ = -1;
  int socket_ = -1;
  int index_ = 0;
  bool carrier_ = true;
  // Values by themselves; they order nothing.
  std::atomic<bool> up_{true};
  std::atomic<uint32_t> mtu_{1500};
};

}  // namespace nearpool::connectx4
