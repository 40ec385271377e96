// SPDX-License-Identifier: BSD-3-Clause
// The files in which a DPDK program finds PCI devices and their RDMA devices.
#pragma once

#include <cstdint>
#include <string>

namespace nearpool::connectx4 {

// Two functions to a card, as the real one has: 0000:81:00.0, 0000:81:00.1, 0000:81:01.0 and so on.
std::string pci_address(uint32_t port);

// Writes the port's part of DIRECTORY/pci and DIRECTORY/ibdev. `node` is the NUMA node it says it
// is on; -1: none. False with a sentence.
bool write_port_tree(const std::string& directory, uint32_t port, const std::string& interface,
                     int node, std::string& error);

}  // namespace nearpool::connectx4
