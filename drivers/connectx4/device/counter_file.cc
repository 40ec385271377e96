// SPDX-License-Identifier: BSD-3-Clause
#include "counter_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace nearpool::connectx4 {
namespace {
constexpr size_t kWord = 8;
constexpr size_t kDigits = 2 * kWord;  // enough for some years; the PMD reads no more than 21 bytes
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
  char digits[kDigits];
  std::memset(digits, ' ', sizeof digits);
  size_t at = kDigits;
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0 && at != 0);
  // Somebody may be reading: eight digits at once, so that 199 does not become 200 by way of 290.
  for (size_t word = 0; word < kDigits; word += kWord) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, digits + word, kWord);
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(text_ + word))
        .store(bytes, std::memory_order_relaxed);
  }
}

}  // namespace nearpool::connectx4
