// SPDX-License-Identifier: BSD-3-Clause
#include "memory_region.hpp"

#include <utility>

namespace nearpool::connectx4 {

Region* RegionTable::add(std::unique_ptr<Region> region) {
  uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<uint32_t>(slots_.size());
    if (index >= 1u << (32 - kVariantBits)) return nullptr;
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  region->key = index << kVariantBits | ++slot.variant;
  slot.region = std::move(region);
  ++generation_;
  ++count_;
  return slot.region.get();
}

void RegionTable::remove(Region* region) {
  const uint32_t index = region->key >> kVariantBits;
  slots_[index].region.reset();
  free_.push_back(index);
  ++generation_;
  --count_;
}

bool RegionCache::refill(const RegionTable& table, const ProtectionDomain* domain, uint32_t key) {
  const Region* region = table.find(key, domain);
  if (region == nullptr) {
    key_ = 0;
    generation_ = 0;
    return false;
  }
  key_ = key;
  generation_ = table.generation();
  start_ = region->start;
  end_ = region->end;
  offset_ = region->offset;
  writable_ = region->writable;
  return true;
}

}  // namespace nearpool::connectx4
