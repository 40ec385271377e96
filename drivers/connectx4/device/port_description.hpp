// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "counters.hpp"
#include "handle.hpp"

namespace nearpool::connectx4 {

// A port as it can be opened: the structure that a program gets from the device list.
struct PortDescription {
  Handle<ibv_device, PortDescription> handle;
  uint32_t index = 0;
  std::string interface;  // name of the control netdev

  // In a file of the run, so that they outlive an open port and a secondary process can read them.
  PortCounters& counters();

 private:
  std::once_flag mapped_;
  PortCounters* counters_ = nullptr;
};

}  // namespace nearpool::connectx4
