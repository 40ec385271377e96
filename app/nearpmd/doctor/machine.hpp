// SPDX-License-Identifier: BSD-3-Clause
// The machine as the kernel's files show it, all below one root, so that a test can show another
// one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearpool::doctor {

class Machine {
 public:
  // @param root "" for this machine, else a directory that holds sys, proc, dev and usr.
  explicit Machine(std::string root) : root_(std::move(root)) {}

  // Paths are absolute, as on the machine: "/proc/cmdline".
  bool exists(const std::string& path) const;
  // Whole file; empty: it is not there or may not be read.
  std::string read(const std::string& path) const;
  // Without blanks around it; nullopt: the file is not there.
  std::optional<std::string> word(const std::string& path) const;
  std::optional<long> number(const std::string& path) const;
  // Names in a directory, sorted.
  std::vector<std::string> entries(const std::string& path) const;
  // Last part of what a symbolic link points to; empty: no link.
  std::string link_name(const std::string& path) const;
  // Permission bits, of what a link points to; nullopt: nothing there.
  std::optional<unsigned> mode(const std::string& path) const;
  // `path` with the links in it followed, as on the machine; empty: it leads nowhere.
  std::string resolved(const std::string& path) const;

  // CPUs of each node; the one node 0 where the kernel names none.
  std::map<int, std::vector<int>> nodes() const;
  // -1: on no node.
  int node_of_cpu(int cpu) const;
  // What follows "NAME:" in /proc/self/status.
  std::string own_status(std::string_view name) const;

 private:
  std::string root_;
};

// "0-3,8" as 0 1 2 3 8; what makes no sense in it is left out.
std::vector<int> numbers_of(std::string_view text);
// 0 1 2 3 8 as "0-3,8".
std::string ranges_of(const std::vector<int>& numbers);

}  // namespace nearpool::doctor
