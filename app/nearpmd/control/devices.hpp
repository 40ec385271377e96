// SPDX-License-Identifier: BSD-3-Clause
// Devices as the user names them to the EAL.
#pragma once

#include "status.hpp"

struct rte_device;

namespace nearpool {

// Every PCI or auxiliary device asked for with -a has brought a port; the EAL itself goes on
// without one that it cannot probe.
Status check_devices_asked_for();

// Whether it is hardware, which may want to pin memory, and no device in software.
bool is_hardware(const rte_device* device);

}  // namespace nearpool
