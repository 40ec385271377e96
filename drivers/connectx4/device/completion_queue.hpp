// SPDX-License-Identifier: BSD-3-Clause
// A completion queue: a ring of 64-byte entries that the device writes and the program reads. The
// owner bit of an entry says in which round it was written.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "byte_order.hpp"
#include "formats.hpp"
#include "handle.hpp"
#include "hot_memory.hpp"

namespace nearpool::connectx4 {

class CompletionQueue;
class Port;

// Where a program waits for completions: an eventfd, one count per event.
class CompletionChannel {
 public:
  static CompletionChannel* create(ibv_context* context);
  ~CompletionChannel();

  ibv_comp_channel* verbs() { return &handle_.verbs; }
  void post(CompletionQueue* queue);
  // The next queue with an event. Blocks unless the program made the descriptor non-blocking; null
  // with errno then.
  CompletionQueue* take();
  void forget(CompletionQueue* queue);

 private:
  Handle<ibv_comp_channel, CompletionChannel> handle_;
  std::mutex mutex_;
  std::deque<CompletionQueue*> pending_;
};

class CompletionQueue {
 public:
  // `entries` is what the program asked for; the ring has the next power of two above it. Null with
  // errno on failure.
  static CompletionQueue* create(Port* port, int entries, CompletionChannel* channel,
                                 void* context);
  ~CompletionQueue();

  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // ---- the thread that writes completions ----

  // Whether `wanted` more entries can be written without running over unread ones.
  bool has_room(uint32_t wanted = 1) {
    if (producer() - consumer_ + wanted <= count_) return true;
    // Pairs with the program's release of its consumer index: entries below it were read.
    const uint32_t index = swap32(
        std::atomic_ref<uint32_t>(doorbell_[kConsumerDoorbell]).load(std::memory_order_acquire));
    consumer_ = producer() - ((producer() - index) & index_mask_);
    return producer() - consumer_ + wanted <= count_;
  }

  CompletionEntry* next() { return &entries_[producer() & (count_ - 1)]; }
  void prefetch_ahead(uint32_t distance) const {
    prefetch_for_write(&entries_[(producer() + distance) & (count_ - 1)]);
  }

  // Makes the entry of next() visible. `last_word` holds its last 8 bytes with the owner bit clear;
  // they are written after all others, since a reader looks at the owner first. At once, frame by
  // frame: showing the entries of a batch together was measured to be slower.
  void publish(CompletionEntry* entry, uint64_t last_word) {
    const uint32_t index = producer();
    if ((index & count_) != 0) last_word |= kOwnerBit;
    auto* word = reinterpret_cast<uint64_t*>(entry) + 7;
    // Pairs with the PMD's read of the owner byte and the read barrier behind it.
    std::atomic_ref<uint64_t>(*word).store(last_word, std::memory_order_release);
    producer_.store(index + 1, std::memory_order_relaxed);
  }

  static uint64_t last_word(uint32_t tag, uint16_t counter, CompletionOpcode opcode) {
    return static_cast<uint64_t>(swap32(tag)) | static_cast<uint64_t>(swap16(counter)) << 32 |
           static_cast<uint64_t>(opcode) << 60;
  }

  // Writes a whole error entry.
  void push_error(CompletionOpcode opcode, Syndrome syndrome, uint32_t tag, uint16_t counter);

  // Sends the event that the program has asked for, once per request. Any device thread.
  void signal_if_armed();

  // ---- control ----

  // A send queue's consumer index has 16 bits only; the record's upper bits mean nothing then.
  void count_as_send_queue() { index_mask_ = 0xffff; }

  Port* port() const { return port_; }
  CompletionChannel* channel() const { return channel_; }
  ibv_cq_ex* verbs() { return &handle_.verbs; }
  CompletionEntry* entries() const { return entries_; }
  uint32_t* doorbell() const { return doorbell_; }
  uint32_t count() const { return count_; }
  uint32_t number() const { return number_; }
  uint32_t producer() const { return producer_.load(std::memory_order_relaxed); }

  std::atomic<uint32_t> users{0};  // queues that complete into this one

 private:
  static constexpr uint64_t kOwnerBit = 1ull << 56;

  CompletionQueue() = default;

  CompletionEntry* entries_ = nullptr;
  uint32_t* doorbell_ = nullptr;
  uint32_t count_ = 0;
  uint32_t consumer_ = 0;  // as last read
  uint32_t index_mask_ = 0xffffff;
  // Written by the one thread that completes into this queue; signal_if_armed reads it elsewhere,
  // and needs no order: the program looks at the entries, not at this.
  std::atomic<uint32_t> producer_{0};
  std::atomic<uint32_t> last_signalled_{kNeverArmed};
  CompletionChannel* channel_ = nullptr;
  Port* port_ = nullptr;
  uint32_t number_ = 0;
  Handle<ibv_cq_ex, CompletionQueue> handle_;
};

}  // namespace nearpool::connectx4
