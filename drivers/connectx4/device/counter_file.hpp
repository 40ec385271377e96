// SPDX-License-Identifier: BSD-3-Clause
// A counter that a program reads from a file, as it reads those of sysfs. The file is mapped, so an
// update is a few stores and a reader always finds the newest value.
#pragma once

#include <cstdint>
#include <string>

namespace nearpool::connectx4 {

class CounterFile {
 public:
  CounterFile() = default;
  ~CounterFile();
  CounterFile(const CounterFile&) = delete;
  CounterFile& operator=(const CounterFile&) = delete;

  // False when the file cannot be made; publish() does nothing then.
  bool open(const std::string& path);
  void publish(uint64_t value);

 private:
  char* text_ = nullptr;
  uint64_t published_ = 0;
};

}  // namespace nearpool::connectx4
