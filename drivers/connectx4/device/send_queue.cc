// SPDX-License-Identifier: BSD-3-Clause
#include "send_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "checksum.hpp"
#include "clock.hpp"
#include "limits.hpp"
#include "port.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kPrefetchDistance = 8;  // entries
constexpr uint32_t kLeastWireFrame = 60;   // without FCS; shorter frames are padded with zeros

uint16_t distance(uint16_t from, uint16_t to) {
  return static_cast<uint16_t>(to - from);
}

void pad_to_least(Frame& frame) {
  if (frame.length >= kLeastWireFrame) return;
  std::memset(frame.head.data() + frame.length, 0, kLeastWireFrame - frame.length);
  frame.head_changed = true;
  frame.length = kLeastWireFrame;
  frame.head_length = kLeastWireFrame;
}

}  // namespace

uint32_t SendQueue::poll(FrameBatch& batch) {
  if (state_ == State::kReset) return 0;
  const uint16_t end = posted_index();
  if (end == consumer_) return 0;
  if (state_ == State::kError) {
    flush(end);
    return 0;
  }
  if (stalled_until_ != 0 && stalled()) return 0;

  const EntryStatus status = read_batch(batch, end);
  prefetch_next(batch, end);
  for (uint32_t i = 0; i < batch.count; ++i) {
    Frame& frame = batch.frames[i];
    if (frame.lost) continue;
    frame.gather_head();
    pad_to_least(frame);
    frame.info = parse_packet(frame.head.data(), frame.head_length, frame.length);
    if ((frame.checksum_request & (kChecksumL3 | kChecksumL4)) != 0) {
      frame.head_changed = true;
      fill_checksums(frame, (frame.checksum_request & kChecksumL3) != 0,
                     (frame.checksum_request & kChecksumL4) != 0);
    }
  }
  const uint32_t sent = batch.count == 0 ? 0 : port_->transmit(batch, losses_);
  for (uint32_t i = 0; i < sent; ++i) {
    const Frame& frame = batch.frames[i];
    if (frame.completion_wanted) complete(frame);
    consumer_ = static_cast<uint16_t>(consumer_ + frame.wqe_units);
  }
  if (sent == batch.count) {
    if (status == EntryStatus::kMalformed) fail(Syndrome::kLocalOperation);
    if (status == EntryStatus::kProtection) fail(Syndrome::kLocalProtection);
  }
  return sent;
}

// The first entries of the next batch, if they are posted already.
void SendQueue::prefetch_next(const FrameBatch& batch, uint16_t end) const {
  if (batch.count != kBatchFrames) return;
  const Frame& last = batch.frames[kBatchFrames - 1];
  const auto next = static_cast<uint16_t>(last.wqe_index + last.wqe_units);
  const uint32_t ahead = std::min<uint32_t>(distance(next, end), kPrefetchDistance);
  for (uint32_t i = 0; i < ahead; ++i)
    prefetch(ring_.unit(static_cast<uint16_t>(next + i)));
}

// Reads entries until the batch is full, nothing is left, no completion could be written, or one is
// bad; the latter's status is the result. The bad one is not part of the batch.
EntryStatus SendQueue::read_batch(FrameBatch& batch, uint16_t end) {
  batch.count = 0;
  const uint32_t ahead = std::min<uint32_t>(distance(consumer_, end), kPrefetchDistance);
  for (uint32_t i = 0; i < ahead; ++i)
    prefetch(ring_.unit(static_cast<uint16_t>(consumer_ + i)));
  uint16_t index = consumer_;
  Segment* segments = batch.segments.data();
  uint32_t completions = 0;
  while (batch.count < kBatchFrames && index != end) {
    if (distance(index, end) > kPrefetchDistance) {
      prefetch(ring_.unit(static_cast<uint16_t>(index + kPrefetchDistance)));
    }
    const EntryStatus status = read_entry(batch, index, segments);
    Frame& frame = batch.frames[batch.count];
    if (stalled_until_ != 0) return EntryStatus::kFrame;
    if (status == EntryStatus::kMalformed || status == EntryStatus::kProtection) return status;
    // Half-written entries behind the doorbell cannot be: an entry is posted as a whole.
    if (frame.wqe_units > distance(index, end)) return EntryStatus::kMalformed;
    if (status == EntryStatus::kNop) frame.lost = true;
    if (frame.completion_wanted && !completions_->has_room(++completions)) break;
    for (uint32_t i = 0; i < frame.segment_count; ++i)
      prefetch(segments[i].data);
    segments += frame.segment_count;
    index = static_cast<uint16_t>(index + frame.wqe_units);
    ++batch.count;
  }
  return EntryStatus::kFrame;
}

EntryStatus SendQueue::read_entry(FrameBatch& batch, uint16_t index, Segment* segments) {
  if (injected_error_) return EntryStatus::kProtection;
  if (faults_.active() && distance(faults_counted_to_, index) < 0x8000) [[unlikely]] {
    faults_counted_to_ = static_cast<uint16_t>(index + 1);
    switch (faults_.next()) {
      case FaultAction::kError:
        injected_error_ = true;  // until the queue is reset, however often the entry is read again
        return EntryStatus::kProtection;
      case FaultAction::kStall:
        stalled_until_ =
            now_nanoseconds() + faults_.stall_milliseconds() * kNanosecondsPerMillisecond;
        return EntryStatus::kFrame;
      case FaultAction::kNone:
      case FaultAction::kNoBuffer:
        break;
    }
  }
  Frame& frame = batch.frames[batch.count];
  return read_send_entry(
      ring_, index, frame, segments,
      [this, index](uint32_t key, uint64_t address, uint32_t length) -> const uint8_t* {
        const uint8_t* data =
            cache_.translate(*regions_, domain_, key, address, length, Access::kRead);
        if (data == nullptr) [[unlikely]]
          errors_.report({address, length, key}, index);
        return data;
      });
}

bool SendQueue::stalled() {
  if (now_nanoseconds() < stalled_until_) return true;
  stalled_until_ = 0;
  return false;
}

void SendQueue::complete(const Frame& frame) {
  CompletionEntry* entry = completions_->next();
  std::memset(static_cast<void*>(entry), 0, kSyndromeOffset + 1);
  completions_->publish(entry,
                        CompletionQueue::last_word(tag_, frame.wqe_index, CompletionOpcode::kSend));
}

// The entry at consumer_ is bad: it and everything behind it completes in error, and the queue
// stands until the program resets it.
void SendQueue::fail(Syndrome syndrome) {
  if (!completions_->has_room()) return;  // again at the next poll
  errors_.complete(syndrome, consumer_);
  consumer_ = static_cast<uint16_t>(consumer_ + entry_units(ring_, consumer_));
  state_ = State::kError;
  port_->counters().tx_errors.add(1);
  flush(posted_index());
}

void SendQueue::flush(uint16_t end) {
  while (consumer_ != end) {
    const uint16_t units = entry_units(ring_, consumer_);
    if (entry_wants_completion(ring_, consumer_)) {
      if (!completions_->has_room()) return;
      errors_.complete(Syndrome::kFlushed, consumer_);
    }
    consumer_ = distance(consumer_, end) < units ? end : static_cast<uint16_t>(consumer_ + units);
  }
}

namespace {

constexpr uint32_t kControlAndEthernet = 2 * kSegmentSize;

// Bytes of the largest entry of either form: control, Ethernet and inline header, then data
// segments or inline data. The program computes its ring's use from the size it is told.
uint32_t largest_entry(const ibv_qp_cap& cap) {
  const uint32_t gathered = kControlAndEthernet + std::max(cap.max_send_sge, 1u) * kSegmentSize;
  const uint32_t inlined =
      cap.max_inline_data == 0
          ? 0
          : kControlAndEthernet +
                (cap.max_inline_data + static_cast<uint32_t>(sizeof(uint32_t)) + kSegmentSize - 1) /
                    kSegmentSize * kSegmentSize;
  return (std::max(gathered, inlined) + kWqeUnit - 1) / kWqeUnit * kWqeUnit;
}

}  // namespace

uint32_t SendQueue::inline_room(const ibv_qp_cap& cap) {
  return largest_entry(cap) - kControlAndEthernet - static_cast<uint32_t>(sizeof(uint32_t));
}

SendQueue* SendQueue::create(Port* port, const ibv_qp_init_attr_ex& attributes, uint32_t number) {
  const ibv_qp_cap& cap = attributes.cap;
  if (cap.max_send_wr > kMostSendEntries || cap.max_send_sge > kMostSendSegments ||
      cap.max_inline_data > kMostInlineData || attributes.send_cq == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  const uint32_t units =
      std::bit_ceil(largest_entry(cap) * std::max(cap.max_send_wr, 1u)) / kWqeUnit;
  if (units > kMostSendEntries) {
    errno = EINVAL;
    return nullptr;
  }
  auto* ring =
      static_cast<uint8_t*>(port->memory().allocate(static_cast<size_t>(units) * kWqeUnit));
  uint32_t* doorbell = port->memory().allocate_doorbell();
  if (ring == nullptr || doorbell == nullptr) {
    port->memory().release(ring);
    port->memory().release_doorbell(doorbell);
    errno = ENOMEM;
    return nullptr;
  }
  auto* queue = new SendQueue;
  queue->memory_ = ring;
  queue->ring_ = {ring, units};
  queue->doorbell_ = doorbell;
  queue->completions_ = owner_of<CompletionQueue>(reinterpret_cast<ibv_cq_ex*>(attributes.send_cq));
  queue->completions_->count_as_send_queue();
  ++queue->completions_->users;
  queue->tag_ = static_cast<uint32_t>(kOpcodeSend) << 24 | number;
  queue->errors_.set_up(queue->completions_, port->name(), "send", CompletionOpcode::kSendError,
                        number, queue->tag_);
  queue->regions_ = &port->regions();
  queue->domain_ = owner_of<ProtectionDomain>(attributes.pd);
  queue->port_ = port;
  queue->faults_ = port->faults_for_next_queue(FaultSide::kSend, units);
  queue->register_ = port->next_doorbell_register();
  return queue;
}

SendQueue::~SendQueue() {
  --completions_->users;
  port_->memory().release(memory_);
  port_->memory().release_doorbell(doorbell_);
}

void SendQueue::set_ready(bool ready) {
  if (ready) {
    state_ = State::kReady;
  } else if (state_ == State::kReady) {
    state_ = State::kReset;
  }
}

void SendQueue::set_error() {
  state_ = State::kError;
  flush(posted_index());
}

void SendQueue::reset() {
  state_ = State::kReset;
  consumer_ = 0;
  injected_error_ = false;
  stalled_until_ = 0;
  faults_counted_to_ = 0;
  losses_ = LossPlan{};
  doorbell_[kReceiveDoorbell] = 0;
  doorbell_[kSendDoorbell] = 0;
}

}  // namespace nearpool::connectx4
