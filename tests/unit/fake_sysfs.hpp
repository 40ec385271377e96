// SPDX-License-Identifier: BSD-3-Clause
// A node tree as the kernel shows it, in a folder of its own that goes away with the object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace nearpool::test {

class FakeSysfs {
 public:
  FakeSysfs() {
    std::string name = (std::filesystem::temp_directory_path() / "nearpool-sysfs-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
  }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;
  ~FakeSysfs() { std::filesystem::remove_all(root_); }

  // distances: the line of the node's file, "10 21".
  FakeSysfs& node(int id, std::uint64_t memory_kb, const std::vector<int>& cpus,
                  const std::string& distances) {
    const std::string prefix = "Node " + std::to_string(id) + " ";
    write(id, "meminfo",
          prefix + "MemTotal:       " + std::to_string(memory_kb) + " kB\n" + prefix +
              "MemFree:        " + std::to_string(memory_kb / 2) + " kB\n");
    for (const int cpu : cpus) {
      std::filesystem::create_directory(path(id) + "/cpu" + std::to_string(cpu));
    }
    write(id, "distance", distances + "\n");
    return *this;
  }

  FakeSysfs& hugepages(int id, std::size_t page_kb, std::uint64_t total, std::uint64_t free) {
    const std::string folder = "hugepages/hugepages-" + std::to_string(page_kb) + "kB/";
    write(id, folder + "nr_hugepages", std::to_string(total) + "\n");
    write(id, folder + "free_hugepages", std::to_string(free) + "\n");
    return *this;
  }

  FakeSysfs& write(int id, const std::string& file, const std::string& text) {
    const std::filesystem::path target = path(id) + "/" + file;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target) << text;
    return *this;
  }

  const std::string& root() const { return root_; }
  std::string path(int id) const { return root_ + "/node" + std::to_string(id); }

 private:
  std::string root_;
};

}  // namespace nearpool::test
