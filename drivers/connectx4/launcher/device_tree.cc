// SPDX-License-Identifier: BSD-3-Clause
#include "device_tree.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace nearpool::connectx4 {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kFirstBus = 0x81;
constexpr uint32_t kDevicesOfBus = 32;
constexpr uint32_t kBuses = 256 - kFirstBus;
constexpr uint32_t kFunctions = 2;

class Tree {
 public:
  explicit Tree(std::string& error) : error_(error) {}

  void write(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << '\n';
    file.flush();
    if (!file && error_.empty()) error_ = "cannot write " + path.string();
  }
  void directory(const fs::path& path) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed && error_.empty()) error_ = "cannot make " + path.string() + ": " + failed.message();
  }
  void link(const fs::path& target, const fs::path& path) {
    std::error_code failed;
    fs::create_directory_symlink(target, path, failed);
    if (failed && error_.empty()) error_ = "cannot make " + path.string() + ": " + failed.message();
  }
  bool good() const { return error_.empty(); }

 private:
  std::string& error_;
};

}  // namespace

std::string pci_address(uint32_t port) {
  const uint32_t device = port / kFunctions;
  const uint32_t bus = device / kDevicesOfBus;
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%u", bus / kBuses, kFirstBus + bus % kBuses,
                device % kDevicesOfBus, port % kFunctions);
  return text;
}

bool write_port_tree(const std::string& directory, uint32_t port, const std::string& interface,
                     int node, std::string& error) {
  const std::string address = pci_address(port);
  const fs::path root(directory);
  const fs::path pci = root / "pci" / address;
  const fs::path driver = root / "drivers" / "mlx5_core";
  Tree tree(error);
  tree.directory(pci);
  tree.directory(driver);
  tree.write(pci / "vendor", "0x15b3");
  tree.write(pci / "device", "0x1013");
  tree.write(pci / "subsystem_vendor", "0x15b3");
  tree.write(pci / "subsystem_device", "0x0008");
  tree.write(pci / "class", "0x020000");
  tree.write(pci / "numa_node", std::to_string(node));
  tree.write(pci / "max_vfs", "0");
  tree.write(pci / "sriov_numvfs", "0");
  const std::string none = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
  tree.write(pci / "resource", none + '\n' + none + '\n' + none + '\n' + none + '\n' + none + '\n' +
                                   none + '\n' + none);
  // Without a driver the PCI bus skips the device, and says nothing.
  tree.link(driver, pci / "driver");

  const fs::path ibdev = root / "ibdev" / ("mlx5_" + std::to_string(port));
  tree.directory(ibdev / "device" / "net" / interface);
  tree.directory(ibdev / "ports" / "1" / "hw_counters");
  tree.write(ibdev / "device" / "net" / interface / "dev_port", "0");
  tree.write(ibdev / "device" / "uevent",
             "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1013\nPCI_SLOT_NAME=" + address);
  tree.write(ibdev / "ports" / "1" / "hw_counters" / "out_of_buffer", "0");
  return tree.good();
}

}  // namespace nearpool::connectx4
