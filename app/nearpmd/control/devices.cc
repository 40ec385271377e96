// SPDX-License-Identifier: BSD-3-Clause
#include "control/devices.hpp"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include <string>

namespace nearpool {
namespace {

bool has_port(const std::string& name) {
  uint16_t port;
  RTE_ETH_FOREACH_DEV(port) {
    rte_eth_dev_info info;
    if (rte_eth_dev_info_get(port, &info) != 0) continue;
    // A PCI address may be written without its domain.
    if (std::string(rte_dev_name(info.device)).ends_with(name)) return true;
  }
  return false;
}

}  // namespace

Status check_devices_asked_for() {
  for (const char* bus : {"pci", "auxiliary"}) {
    rte_devargs* asked;
    RTE_EAL_DEVARGS_FOREACH(bus, asked) {
      if (asked->policy != RTE_DEV_ALLOWED || has_port(asked->name)) continue;
      return failure(
          "device {} was asked for (-a) and not probed: see that it is there and bound to the "
          "kernel driver that its PMD wants (mlx5: rdma-core, and the kernel's mlx5_core and "
          "mlx5_ib; others: vfio-pci)",
          asked->name);
    }
  }
  return {};
}

bool is_hardware(const rte_device* device) {
  const rte_bus* bus = rte_dev_bus(device);
  return bus != nullptr && std::string(rte_bus_name(bus)) != "vdev";
}

}  // namespace nearpool
