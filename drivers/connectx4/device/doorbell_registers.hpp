// SPDX-License-Identifier: BSD-3-Clause
// The page of doorbell registers. The device looks at the doorbell records in memory only, but the
// PMD writes the registers too, so they must be there: in its secondary processes as well, which
// map them through the context's descriptor.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace nearpool::connectx4 {

class DoorbellRegisters {
 public:
  // How the PMD names the page: the command "non-cached doorbell" in units of pages.
  static constexpr off_t kMapOffset = off_t{3} << 8 << 12;

  DoorbellRegisters() = default;
  ~DoorbellRegisters();
  DoorbellRegisters(const DoorbellRegisters&) = delete;
  DoorbellRegisters& operator=(const DoorbellRegisters&) = delete;

  // False with errno on failure.
  bool open();

  int descriptor() const { return descriptor_; }
  void* page() const { return page_; }
  // A cache line for each queue as long as they last, then again from the first; the completion
  // queues share line 0.
  void* next();

 private:
  int descriptor_ = -1;
  uint8_t* page_ = nullptr;
  std::atomic<uint32_t> used_{0};  // a count by itself
};

}  // namespace nearpool::connectx4
