// SPDX-License-Identifier: BSD-3-Clause
// A machine's files in a folder of its own, which goes away with the object.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "doctor/visit.hpp"

namespace nearpool::test {

class FakeMachine {
 public:
  FakeMachine() {
    std::string name = (std::filesystem::temp_directory_path() / "nearpmd-doctor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() { std::filesystem::remove_all(root_); }

  FakeMachine& file(const std::string& path, const std::string& text) {
    const std::filesystem::path target = root_ + path;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target) << text << '\n';
    return *this;
  }
  FakeMachine& directory(const std::string& path, unsigned mode = 0755) {
    std::filesystem::create_directories(root_ + path);
    chmod((root_ + path).c_str(), mode);
    return *this;
  }
  FakeMachine& link(const std::string& path, const std::string& target) {
    const std::filesystem::path at = root_ + path;
    std::filesystem::create_directories(at.parent_path());
    std::filesystem::create_symlink(target, at);
    return *this;
  }

  FakeMachine& node(int id, const std::string& cpus, long total = 0, long free = 0) {
    const std::string folder = "/sys/devices/system/node/node" + std::to_string(id);
    file(folder + "/cpulist", cpus);
    file(folder + "/hugepages/hugepages-2048kB/nr_hugepages", std::to_string(total));
    return file(folder + "/hugepages/hugepages-2048kB/free_hugepages", std::to_string(free));
  }
  // driver "": none.
  FakeMachine& nic(const std::string& address, int node, const std::string& driver) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    file(folder + "/class", "0x020000").file(folder + "/numa_node", std::to_string(node));
    if (!driver.empty()) link(folder + "/driver", "../../../bus/pci/drivers/" + driver);
    return *this;
  }

  doctor::Visit visit(const std::vector<std::string>& devices = {}, std::vector<int> cpus = {1}) {
    doctor::Visit visit;
    visit.machine = doctor::Machine(root_);
    for (const std::string& device : devices)
      visit.devices.push_back(doctor::device_of(device));
    visit.cpus = std::move(cpus);
    visit.bytes_wanted = 100 << 20;
    visit.in_memory = true;
    visit.driver_directory = "/usr/lib/pmds";
    return visit;
  }

 private:
  std::string root_;
};

}  // namespace nearpool::test
