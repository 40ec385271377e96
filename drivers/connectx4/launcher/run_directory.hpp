// SPDX-License-Identifier: BSD-3-Clause
// The private place of a run: BASE/NUMBER, with what a program is to find there instead of in
// sysfs. The run holds a lock for as long as the launcher or anything it started lives; what a
// killed run left behind is taken away by the next one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearpool::connectx4 {

class RunDirectory {
 public:
  // Takes the lowest free number. False with a sentence.
  bool create(std::string& error);
  // Removes the directory, and the interfaces noted in it.
  void remove();

  // The name of a port's control netdev.
  std::string interface_of(uint32_t port) const;
  // Says that an interface is about to be made, so that it is found whatever happens then.
  bool note_interface(const std::string& name, std::string& error);
  // And that it has been, so that it is not taken for another of its name.
  bool note_made(const std::string& name, std::string& error);

  int number() const { return number_; }
  const std::string& path() const { return path_; }

  // Of the running user: /run/connectx4 for root.
  static std::string base();

 private:
  static void remove_stale(const std::string& base);
  bool note(const std::string& line, std::string& error);

  int number_ = -1;
  int lock_ = -1;  // inherited by the program on purpose
  std::string path_;
};

}  // namespace nearpool::connectx4
