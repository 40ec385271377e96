// SPDX-License-Identifier: BSD-3-Clause
// The free pages of one node: last in, first out, so that the warmest page leaves first, with the
// three watermarks of the kernel's page allocator. An rte_stack would hold the pages as well, but
// whether a page is a pressure page depends on how many were left when it was taken: the count, the
// levels and the pages change together, under one lock.
#pragma once

#include <rte_spinlock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace nearpool {

// Pages free on a node. min <= low <= high; zero stands for "none".
struct Watermarks {
  uint32_t min = 0;
  uint32_t low = 0;
  uint32_t high = 0;
};

// Any thread may take and give. A bulk costs one lock, held for a copy of its pointers.
class alignas(64) FreeList {
 public:
  struct Taken {
    uint32_t pages;
    uint32_t pressure;  // of these, the last ones in the table, taken under pressure
  };

  struct Levels {
    uint32_t free;
    uint64_t below_min;  // times it fell below
    uint64_t below_low;
    bool pressed;
    bool asking;
    bool forced;
  };

  // `slots` has room for `capacity` pointers and outlives the list.
  void init(void** slots, uint32_t capacity, Watermarks marks) {
    rte_spinlock_init(&lock_);
    slots_ = slots;
    capacity_ = capacity;
    marks_ = marks;
  }

  // Takes n pages, or none and writes nothing. Below min only with `reserve`; the node is then
  // under pressure until low is reached again, and each page taken until then is a pressure page.
  Taken take(void** pages, uint32_t n, bool reserve) {
    lock();
    const Taken taken = ready(reserve) < n ? Taken{0, 0} : take_locked(pages, n, reserve);
    unlock();
    return taken;
  }

  // For a take from several lists at once, all of them locked.
  void lock() const { rte_spinlock_lock(&lock_); }
  void unlock() const { rte_spinlock_unlock(&lock_); }
  // Most pages that can be taken now. Needs the lock.
  uint32_t ready(bool reserve) const { return reserve ? length() : above_min(); }
  // Takes up to n pages. Needs the lock.
  Taken take_locked(void** pages, uint32_t n, bool reserve) {
    const uint32_t held = length();
    const uint32_t calm = above_min();
    const uint32_t taken = std::min(n, reserve ? held : calm);
    const uint32_t pressure = under_watch() && taken > calm ? taken - calm : 0;
    std::memcpy(pages, slots_ + (held - taken), taken * sizeof(void*));
    set_length(held - taken);
    if (held - taken < marks_.min && !pressed_) {
      pressed_ = true;
      ++below_min_;
    }
    if (held - taken < marks_.low && !asking()) {
      ++below_low_;
      asking_.store(true, std::memory_order_relaxed);
    }
    return {taken, pressure};
  }

  // There is room for every page of the node, so this cannot fail. Returns false, and takes in
  // nothing, if that does not hold: somebody returned a page twice.
  [[nodiscard]] bool give(void* const* pages, uint32_t n) {
    rte_spinlock_lock(&lock_);
    const uint32_t held = length();
    if (n > capacity_ - held) {
      rte_spinlock_unlock(&lock_);
      return false;
    }
    std::memcpy(slots_ + held, pages, n * sizeof(void*));
    set_length(held + n);
    if (held + n >= marks_.low) pressed_ = false;
    if (held + n >= marks_.high) asking_.store(false, std::memory_order_relaxed);
    rte_spinlock_unlock(&lock_);
    return true;
  }

  // Behave as if below min, whatever is free. Control thread.
  void force_pressure(bool on) {
    rte_spinlock_lock(&lock_);
    forced_ = on;
    rte_spinlock_unlock(&lock_);
  }

  Levels levels() const {
    rte_spinlock_lock(&lock_);
    const Levels levels{length(), below_min_, below_low_, pressed_ || forced_, asking(), forced_};
    rte_spinlock_unlock(&lock_);
    return levels;
  }

  // Approximate while others take and give.
  uint32_t free_pages() const { return length(); }
  // Whether pools are asked for surplus. Read once per poll by every consumer; stale is harmless,
  // so relaxed: it orders nothing.
  bool asking() const { return asking_.load(std::memory_order_relaxed); }
  Watermarks watermarks() const { return marks_; }
  void** slots() const { return slots_; }

 private:
  // Pages that can be taken without being pressure pages.
  uint32_t above_min() const {
    const uint32_t held = length();
    return pressed_ || forced_ || held <= marks_.min ? 0 : held - marks_.min;
  }
  bool under_watch() const { return marks_.min != 0 || forced_; }
  // Written under the lock only; atomic for readers that do not take it.
  uint32_t length() const { return length_.load(std::memory_order_relaxed); }
  void set_length(uint32_t length) { length_.store(length, std::memory_order_relaxed); }

  // What consumers read each poll stands apart from what each take and give writes.
  std::atomic<bool> asking_{false};
  alignas(64) mutable rte_spinlock_t lock_{};
  std::atomic<uint32_t> length_{0};
  uint32_t capacity_ = 0;
  Watermarks marks_;
  void** slots_ = nullptr;
  uint64_t below_min_ = 0;
  uint64_t below_low_ = 0;
  bool pressed_ = false;
  bool forced_ = false;
};

}  // namespace nearpool
