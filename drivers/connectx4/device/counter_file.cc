// SPDX-License-Identifier: BSD-3-Clause
#include "counter_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace nearpool::connectx4 {
namespace {
constexpr size_t kDigits = 20;  // of 2^64
constexpr size_t kBytes = kDigits + 1;
}  // namespace

bool CounterFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  void* memory = MAP_FAILED;
  if (ftruncate(file, kBytes) == 0) {
    memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return false;
  text_ = static_cast<char*>(memory);
  std::memset(text_, ' ', kDigits);
  text_[kDigits - 1] = '0';
  text_[kDigits] = '\n';
  return true;
}

CounterFile::~CounterFile() {
  if (text_ != nullptr) munmap(text_, kBytes);
}

void CounterFile::publish(uint64_t value) {
  if (text_ == nullptr || value == published_) return;
  published_ = value;
  size_t at = kDigits;
  do {
    text_[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
}

}  // namespace nearpool::connectx4
