// SPDX-License-Identifier: BSD-3-Clause
// What the device may touch. A program registers ranges of its memory in a protection domain and
// gets a key for each; every address in a work queue entry is checked against them, byte by byte of
// its range. Nothing is let through because it "would have worked".
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "handle.hpp"

namespace nearpool::connectx4 {

class Port;

struct ProtectionDomain {
  Handle<ibv_pd, ProtectionDomain> handle;
  Port* port = nullptr;
  std::atomic<uint32_t> users{
      0};  // regions and queues; an alloc and a dealloc pair with the counts
};

struct Region {
  Handle<ibv_mr, Region> handle;
  const ProtectionDomain* domain = nullptr;
  uint64_t start = 0;  // as the work queue entries name it (IOVA)
  uint64_t end = 0;    // first address behind it
  int64_t offset = 0;  // from such an address to the virtual one
  uint32_t key = 0;
  bool writable = false;
};

class RegionTable {
 public:
  // Takes a free key. Control path; the device threads must be paused.
  Region* add(std::unique_ptr<Region> region);
  void remove(Region* region);

  // The region a key names, or null. `domain` must be the one it was registered in.
  const Region* find(uint32_t key, const ProtectionDomain* domain) const {
    const uint32_t index = key >> kVariantBits;
    if (index >= slots_.size()) return nullptr;
    const Region* region = slots_[index].region.get();
    if (region == nullptr || region->key != key || region->domain != domain) return nullptr;
    return region;
  }

  // Changes whenever a region comes or goes.
  uint32_t generation() const { return generation_; }
  uint32_t count() const { return count_; }

 private:
  // A key is index << 8 | variant, and the variant changes each time a slot is used again, so that
  // a stale key is caught.
  static constexpr uint32_t kVariantBits = 8;
  struct Slot {
    std::unique_ptr<Region> region;
    uint8_t variant = 0;
  };
  std::vector<Slot> slots_{1};  // index 0 stays empty: key 0 is never valid
  std::vector<uint32_t> free_;
  uint32_t generation_ = 1;
  uint32_t count_ = 0;
};

enum class Access { kRead, kWrite };

// The region a queue used last. Owned by the thread that works the queue.
class RegionCache {
 public:
  // The virtual address of [address, address + length), or null when the device may not touch it.
  uint8_t* translate(const RegionTable& table, const ProtectionDomain* domain, uint32_t key,
                     uint64_t address, uint32_t length, Access access) {
    if (key != key_ || generation_ != table.generation()) [[unlikely]] {
      if (!refill(table, domain, key)) return nullptr;
    }
    // Written so that no sum can overflow.
    if (address < start_ || address > end_ || length > end_ - address) [[unlikely]]
      return nullptr;
    if (access == Access::kWrite && !writable_) [[unlikely]]
      return nullptr;
    return reinterpret_cast<uint8_t*>(address + static_cast<uint64_t>(offset_));
  }

 private:
  bool refill(const RegionTable& table, const ProtectionDomain* domain, uint32_t key);

  uint32_t key_ = 0;
  uint32_t generation_ = 0;
  uint64_t start_ = 0;
  uint64_t end_ = 0;
  int64_t offset_ = 0;
  bool writable_ = false;
};

}  // namespace nearpool::connectx4
