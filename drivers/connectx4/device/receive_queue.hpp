// SPDX-License-Identifier: BSD-3-Clause
// A receive queue: a ring of posted buffers that the device fills in order. In multi-packet form
// each entry is one large buffer cut into strides.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "checksum.hpp"
#include "completion_queue.hpp"
#include "fault.hpp"
#include "frame.hpp"
#include "handle.hpp"
#include "memory_region.hpp"
#include "queue_errors.hpp"

namespace nearpool::connectx4 {

class Port;

struct Striding {
  uint32_t log_bytes = 0;  // of one stride
  uint32_t log_count = 0;  // strides in an entry; 0: not a multi-packet queue
};

enum class Delivery {
  kDone,      // the frame is in a buffer, or was lost to an error that has its completion
  kNoBuffer,  // no buffer is posted, or no completion can be written
  kNotReady,  // the queue is in reset or error state
};

class ReceiveQueue {
 public:
  // Echoes what it made in `attributes`. Null with errno on failure.
  static ReceiveQueue* create(Port* port, ibv_wq_init_attr* attributes, Striding striding);
  ~ReceiveQueue();

  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  // ---- the thread that delivers to the port ----

  // Brings the cache lines of the next buffer that is not yet spoken for into reach.
  void prefetch_slot();
  // `timestamp` is in nanoseconds of the device's clock.
  Delivery deliver(const Frame& frame, uint64_t timestamp) {
    if (plain_ && consumer_ != posted_seen_ && completions_->has_room()) [[likely]] {
      const uint8_t* segment = entry(consumer_);
      if (frame.length <= load_be32(segment + kDataByteCount)) {
        uint8_t* to =
            cache_.translate(*regions_, domain_, load_be32(segment + kDataKey),
                             load_be64(segment + kDataAddress), frame.length, Access::kWrite);
        if (to != nullptr) [[likely]] {
          copy_frame(to, frame);
          complete(frame, frame.length, consumer_, 0, false, timestamp);
          ++consumer_;
          return Delivery::kDone;
        }
      }
    }
    return deliver_carefully(frame, timestamp);
  }
  // Completes what is posted to a failed queue. The program goes on posting while it recovers.
  void flush();
  void forget_prefetches() { prefetched_ = 0; }

  // ---- control, device threads paused ----

  // 0 or an errno value.
  int modify(const ibv_wq_attr& attributes);

  ibv_wq* verbs() { return &handle_.verbs; }
  Port* port() const { return port_; }
  CompletionQueue* completions() const { return completions_; }
  uint8_t* ring() const { return ring_; }
  uint32_t* doorbell() const { return doorbell_; }
  uint32_t entry_count() const { return entry_count_; }
  uint32_t entry_size() const { return 1u << log_entry_size_; }

  bool ready() const { return state_ == State::kReady; }

  std::atomic<uint32_t> users{0};  // indirection tables

 private:
  enum class State : uint8_t { kReset, kReady, kError };

  ReceiveQueue() = default;

  // Entries that are posted and not used. Looks at the record only when the last look showed fewer
  // than `wanted`.
  uint16_t posted(uint16_t wanted = 1) {
    if (static_cast<uint16_t>(posted_seen_ - consumer_) < wanted) {
      // Pairs with the PMD's barrier before it writes its producer index: the entries are written.
      posted_seen_ = static_cast<uint16_t>(swap32(
          std::atomic_ref<uint32_t>(doorbell_[kReceiveDoorbell]).load(std::memory_order_acquire)));
    }
    return static_cast<uint16_t>(posted_seen_ - consumer_);
  }
  const uint8_t* entry(uint16_t index) const {
    return ring_ + (static_cast<size_t>(index & (entry_count_ - 1)) << log_entry_size_);
  }

  // Anything that deliver() does not do at once.
  Delivery deliver_carefully(const Frame& frame, uint64_t timestamp);
  Delivery deliver_strides(const Frame& frame, uint32_t skipped, uint64_t timestamp);
  bool scatter(const Frame& frame, uint32_t skipped, uint32_t length);
  uint8_t* checked(const uint8_t* segment, uint32_t offset, uint32_t length);
  void complete(const Frame& frame, uint32_t byte_count, uint16_t counter, uint16_t wqe_id,
                bool stripped, uint64_t timestamp) {
    const ChecksumStatus checksums = verify_checksums(frame);
    const uint64_t ok = kL2Ok | (checksums.l3_ok ? kL3Ok : 0u) | (checksums.l4_ok ? kL4Ok : 0u);
    const uint64_t type = frame.info.header_type | (stripped ? kVlanStripped : 0u);
    const uint64_t tag = stripped ? swap16(frame.info.vlan_tag) : 0;
    CompletionEntry* entry = completions_->next();
    // Whole words: the line is filled by a few stores, field by field takes three times as many.
    auto* words = reinterpret_cast<uint64_t*>(entry);
    words[0] = static_cast<uint64_t>(swap16(wqe_id)) << 16;
    words[1] = static_cast<uint64_t>(swap32(frame.hash)) << 32;
    words[2] = frame.hash_type;
    words[3] = ok << 32 | type << 40 | tag << 48;
    words[4] = 0;
    words[5] = static_cast<uint64_t>(swap32(byte_count)) << 32;
    words[6] = swap64(timestamp);
    completions_->publish(
        entry, CompletionQueue::last_word(frame.flow_tag, counter, CompletionOpcode::kReceive));
  }
  void fail(Syndrome syndrome);
  void begin_flush();
  void set_state(State state);
  void close_strides(uint64_t timestamp);

  // What each frame touches comes first.
  uint8_t* ring_ = nullptr;
  uint32_t* doorbell_ = nullptr;
  CompletionQueue* completions_ = nullptr;
  uint32_t entry_count_ = 0;
  uint32_t log_entry_size_ = 0;
  uint32_t segments_ = 0;  // data segments of an entry
  uint16_t consumer_ = 0;
  uint16_t posted_seen_ = 0;  // the program's index as last looked at
  uint16_t prefetched_ = 0;   // entries spoken for in this batch
  bool plain_ = false;        // ready, no faults, no strides, no stripping
  State state_ = State::kReset;
  bool flushing_ = false;   // failed, and not made ready since
  uint32_t flush_end_ = 0;  // producer index of the completion queue
  bool strip_vlan_ = false;
  Striding striding_;
  uint32_t stride_ = 0;  // next one in the entry at consumer_
  RegionCache cache_;
  const RegionTable* regions_ = nullptr;
  const ProtectionDomain* domain_ = nullptr;
  QueueErrors errors_;
  FaultTrigger faults_;
  Port* port_ = nullptr;
  Handle<ibv_wq, ReceiveQueue> handle_;
};

}  // namespace nearpool::connectx4
