// SPDX-License-Identifier: BSD-3-Clause
// A send queue: a ring of work queue entries that the program writes and the device turns into
// frames.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "completion_queue.hpp"
#include "fault.hpp"
#include "frame.hpp"
#include "memory_region.hpp"
#include "queue_errors.hpp"
#include "send_entry.hpp"
#include "shaper.hpp"

namespace nearpool::connectx4 {

class Port;

class SendQueue {
 public:
  // The inline data that an entry of a queue with these sizes can hold.
  static uint32_t inline_room(const ibv_qp_cap& cap);

  // Null with errno on failure.
  static SendQueue* create(Port* port, const ibv_qp_init_attr_ex& attributes, uint32_t number);
  ~SendQueue();

  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // The port's device thread: sends what is posted, at most a batch. Returns the entries done.
  uint32_t poll(FrameBatch& batch);

  // ---- control, device threads paused ----

  void set_ready(bool ready);
  void set_error();
  void reset();

  uint8_t* ring() const { return memory_; }
  uint32_t units() const { return ring_.units; }
  uint32_t* doorbell() const { return doorbell_; }
  void* doorbell_register() const { return register_; }

 private:
  enum class State : uint8_t { kReset, kReady, kError };

  SendQueue() = default;

  uint16_t posted_index() const {
    // Pairs with the PMD's barrier before it writes its producer index: the entries are written.
    return static_cast<uint16_t>(swap32(
        std::atomic_ref<uint32_t>(doorbell_[kSendDoorbell]).load(std::memory_order_acquire)));
  }
  EntryStatus read_batch(FrameBatch& batch, uint16_t end);
  void prefetch_next(const FrameBatch& batch, uint16_t end) const;
  EntryStatus read_entry(FrameBatch& batch, uint16_t index, Segment* segments);
  void complete(const Frame& frame);
  void fail(Syndrome syndrome);
  void flush(uint16_t end);
  bool stalled();

  SendRing ring_;
  uint32_t* doorbell_ = nullptr;
  CompletionQueue* completions_ = nullptr;
  uint32_t tag_ = 0;  // what its completions carry: opcode and queue number
  uint16_t consumer_ = 0;
  State state_ = State::kReset;
  bool injected_error_ = false;
  RegionCache cache_;
  const RegionTable* regions_ = nullptr;
  const ProtectionDomain* domain_ = nullptr;
  Port* port_ = nullptr;
  QueueErrors errors_;
  FaultTrigger faults_;
  LossPlan losses_;
  uint64_t stalled_until_ = 0;      // 0: not stalled
  uint16_t faults_counted_to_ = 0;  // entries before this one were counted; a retry is not another
  uint8_t* memory_ = nullptr;
  void* register_ = nullptr;
};

}  // namespace nearpool::connectx4
