// SPDX-License-Identifier: BSD-3-Clause
#include "doorbell_registers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "hot_memory.hpp"

namespace nearpool::connectx4 {
namespace {
constexpr size_t kPage = 4096;
constexpr uint32_t kQueueLines = kPage / kCacheLine - 1;
}  // namespace

bool DoorbellRegisters::open() {
  descriptor_ = memfd_create("connectx4-doorbells", MFD_CLOEXEC);
  if (descriptor_ < 0) return false;
  if (ftruncate(descriptor_, kMapOffset + static_cast<off_t>(kPage)) != 0) return false;
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, kMapOffset);
  if (page == MAP_FAILED) return false;
  page_ = static_cast<uint8_t*>(page);
  return true;
}

DoorbellRegisters::~DoorbellRegisters() {
  if (page_ != nullptr) munmap(page_, kPage);
  if (descriptor_ >= 0) close(descriptor_);
}

void* DoorbellRegisters::next() {
  return page_ + kCacheLine * (1 + used_++ % kQueueLines);
}

}  // namespace nearpool::connectx4
