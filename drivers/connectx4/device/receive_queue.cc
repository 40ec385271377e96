// SPDX-License-Identifier: BSD-3-Clause
#include "receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "log.hpp"
#include "port.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kVlanTag = 4;
constexpr uint32_t kMacAddresses = 12;
// A multi-packet entry starts with a segment that is not a buffer.
constexpr uint32_t kStrideEntrySize = 2 * kSegmentSize;

// Reads `length` bytes of the frame without its outer VLAN tag: the addresses first, then what lies
// behind the tag.
class DeliveredBytes {
 public:
  DeliveredBytes(const Frame& frame, uint32_t skipped)
      : frame_(frame),
        tail_(frame, skipped == 0 ? 0 : kMacAddresses + skipped),
        addresses_left_(skipped == 0 ? 0 : kMacAddresses) {}

  void read(uint8_t* to, uint32_t length) {
    if (addresses_left_ != 0) [[unlikely]] {
      const uint32_t part = length < addresses_left_ ? length : addresses_left_;
      copy_bytes(to, frame_.head.data() + kMacAddresses - addresses_left_, part);
      addresses_left_ -= part;
      to += part;
      length -= part;
      if (length == 0) return;
    }
    tail_.read(to, length);
  }

 private:
  const Frame& frame_;
  FrameReader tail_;
  uint32_t addresses_left_;
};

}  // namespace

void ReceiveQueue::prefetch_slot() {
  if (state_ != State::kReady || striding_.log_count != 0) return;
  const uint16_t index = static_cast<uint16_t>(consumer_ + prefetched_);
  const uint8_t* slot = entry(index);
  // Entries are read in order. Those of the next batch, but not what the program may be writing
  // now.
  constexpr uint16_t kAhead = kBatchFrames;
  if (static_cast<uint16_t>(posted_seen_ - index) > kAhead) {
    prefetch(entry(static_cast<uint16_t>(index + kAhead)));
  }
  // Only a hint: if nothing is posted there, it is the address of an old buffer, and unused.
  prefetch_for_write(reinterpret_cast<const void*>(load_be64(slot + kDataAddress)));
  completions_->prefetch_ahead(prefetched_);
  ++prefetched_;
}

Delivery ReceiveQueue::deliver_carefully(const Frame& frame, uint64_t timestamp) {
  if (state_ != State::kReady) [[unlikely]]
    return Delivery::kNotReady;
  if (faults_.active()) [[unlikely]] {
    // A frame that has to wait for a buffer is offered again, and counts once.
    if (posted() == 0 || !completions_->has_room()) return Delivery::kNoBuffer;
    switch (faults_.next()) {
      case FaultAction::kError:
        fail(Syndrome::kLocalProtection);
        return Delivery::kDone;
      case FaultAction::kNoBuffer:
        return Delivery::kNoBuffer;
      case FaultAction::kNone:
      case FaultAction::kStall:
        break;
    }
  }
  const bool strip = strip_vlan_ && frame.info.c_vlan;
  const uint32_t skipped = strip ? kVlanTag : 0;
  if (striding_.log_count != 0) return deliver_strides(frame, skipped, timestamp);
  if (posted() == 0 || !completions_->has_room()) return Delivery::kNoBuffer;
  const uint32_t length = frame.length - skipped;
  if (!scatter(frame, skipped, length)) return Delivery::kDone;
  complete(frame, length, consumer_, 0, strip, timestamp);
  ++consumer_;
  return Delivery::kDone;
}

// Writes the frame into the buffers of the entry at consumer_; false after an error completion.
bool ReceiveQueue::scatter(const Frame& frame, uint32_t skipped, uint32_t length) {
  const uint8_t* segment = entry(consumer_);
  DeliveredBytes bytes(frame, skipped);
  uint32_t left = length;
  for (uint32_t i = 0; i < segments_ && left != 0; ++i, segment += kSegmentSize) {
    const uint32_t room = load_be32(segment + kDataByteCount);
    const uint32_t part = room < left ? room : left;
    if (part == 0) continue;
    uint8_t* to = checked(segment, 0, part);
    if (to == nullptr) return false;
    bytes.read(to, part);
    left -= part;
  }
  if (left == 0) return true;
  // Not an error that stops the queue: the frame is lost, its buffers come back with the
  // completion.
  errors_.complete(Syndrome::kLocalLength, consumer_);
  ++consumer_;
  return false;
}

Delivery ReceiveQueue::deliver_strides(const Frame& frame, uint32_t skipped, uint64_t timestamp) {
  const uint32_t stride_bytes = 1u << striding_.log_bytes;
  const uint32_t stride_count = 1u << striding_.log_count;
  const uint32_t length = frame.length - skipped;
  const uint32_t needed = (length + stride_bytes - 1) >> striding_.log_bytes;
  if (needed > stride_count) {
    if (posted() == 0 || !completions_->has_room()) return Delivery::kNoBuffer;
    errors_.complete(Syndrome::kLocalLength, consumer_);
    ++consumer_;
    stride_ = 0;
    return Delivery::kDone;
  }
  const bool close = stride_ + needed > stride_count;
  const uint16_t entries = close ? 2 : 1;
  if (posted(entries) < entries || !completions_->has_room(entries)) {
    return Delivery::kNoBuffer;
  }
  if (close) close_strides(timestamp);
  const uint8_t* segment = entry(consumer_) + kSegmentSize;
  uint8_t* to = checked(segment, stride_ << striding_.log_bytes, length);
  if (to == nullptr) return Delivery::kDone;
  DeliveredBytes(frame, skipped).read(to, length);
  complete(frame, needed << kStrideCountShift | length, static_cast<uint16_t>(stride_), consumer_,
           skipped != 0, timestamp);
  stride_ += needed;
  if (stride_ == stride_count) {
    stride_ = 0;
    ++consumer_;
  }
  return Delivery::kDone;
}

// A frame does not fit into what is left of the entry: a completion without a frame gives the rest
// up.
void ReceiveQueue::close_strides(uint64_t timestamp) {
  const uint32_t rest = (1u << striding_.log_count) - stride_;
  CompletionEntry* entry = completions_->next();
  std::memset(static_cast<void*>(entry), 0, kSyndromeOffset + 1);
  entry->wqe_id = swap16(consumer_);
  entry->byte_count = swap32(kFillerStrides | rest << kStrideCountShift);
  entry->timestamp = swap64(timestamp);
  completions_->publish(entry, CompletionQueue::last_word(0, static_cast<uint16_t>(stride_),
                                                          CompletionOpcode::kReceive));
  stride_ = 0;
  ++consumer_;
}

// Where the device may write; null after it has failed the queue.
uint8_t* ReceiveQueue::checked(const uint8_t* segment, uint32_t offset, uint32_t length) {
  const uint32_t room = load_be32(segment + kDataByteCount);
  const uint32_t key = load_be32(segment + kDataKey);
  const uint64_t address = load_be64(segment + kDataAddress) + offset;
  uint8_t* to = nullptr;
  if (offset <= room && length <= room - offset) {
    to = cache_.translate(*regions_, domain_, key, address, length, Access::kWrite);
  }
  if (to != nullptr) [[likely]]
    return to;
  errors_.report({address, length, key}, consumer_);
  fail(Syndrome::kLocalProtection);
  return nullptr;
}

void ReceiveQueue::fail(Syndrome syndrome) {
  errors_.complete(syndrome, consumer_);
  ++consumer_;
  stride_ = 0;
  set_state(State::kError);
  handle_.verbs.state = IBV_WQS_ERR;
  port_->counters().rx_wqe_errors.add(1);
  begin_flush();
}

// The PMD resets the queue at the first error it sees, then reads errors until it finds no more,
// and makes the queue ready again. Its vector code looks for the end one entry behind its index,
// where it sees it only if that is the last entry of the ring. So errors end there: what is posted
// behind that goes without, as for a queue that is reset before all is flushed.
void ReceiveQueue::begin_flush() {
  const uint32_t count = completions_->count();
  flush_end_ = (completions_->producer() + count - 1) / count * count;
  flushing_ = true;
  port_->add_failed_queue(this);
  flush();
}

void ReceiveQueue::flush() {
  while (completions_->producer() != flush_end_ && posted() != 0 && completions_->has_room()) {
    errors_.complete(Syndrome::kFlushed, consumer_);
    ++consumer_;
  }
}

ReceiveQueue* ReceiveQueue::create(Port* port, ibv_wq_init_attr* attributes, Striding striding) {
  constexpr uint32_t kMostEntries = 32768;
  constexpr uint32_t kMostSegmentsPosted = 32;
  if (attributes->wq_type != IBV_WQT_RQ || attributes->max_wr == 0 ||
      attributes->max_wr > kMostEntries || attributes->max_sge > kMostSegmentsPosted ||
      attributes->cq == nullptr || attributes->pd == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  if ((attributes->create_flags & ~static_cast<uint32_t>(IBV_WQ_FLAGS_CVLAN_STRIPPING)) != 0) {
    errno = EOPNOTSUPP;  // FCS scatter, delay drop, end padding: not offered
    return nullptr;
  }
  constexpr uint32_t kLeastRing = 64;  // bytes
  const uint32_t segments = striding.log_count != 0 ? 1 : std::bit_ceil(attributes->max_sge);
  const uint32_t size = striding.log_count != 0 ? kStrideEntrySize : segments * kSegmentSize;
  const uint32_t count = std::max(std::bit_ceil(attributes->max_wr), kLeastRing / size);
  auto* ring = static_cast<uint8_t*>(port->memory().allocate(static_cast<size_t>(count) * size));
  uint32_t* doorbell = port->memory().allocate_doorbell();
  if (ring == nullptr || doorbell == nullptr) {
    port->memory().release(ring);
    port->memory().release_doorbell(doorbell);
    errno = ENOMEM;
    return nullptr;
  }
  auto* queue = new ReceiveQueue;
  queue->ring_ = ring;
  queue->doorbell_ = doorbell;
  queue->completions_ = owner_of<CompletionQueue>(reinterpret_cast<ibv_cq_ex*>(attributes->cq));
  queue->entry_count_ = count;
  queue->log_entry_size_ = static_cast<uint32_t>(std::countr_zero(size));
  queue->segments_ = segments;
  queue->striding_ = striding;
  queue->strip_vlan_ = (attributes->create_flags & IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0;
  queue->regions_ = &port->regions();
  queue->domain_ = owner_of<ProtectionDomain>(attributes->pd);
  queue->port_ = port;
  queue->faults_ = port->faults_for_next_queue(FaultSide::kReceive, attributes->max_wr);
  queue->handle_.owner = queue;
  ibv_wq& verbs = queue->handle_.verbs;
  verbs.context = port->context();
  verbs.wq_context = attributes->wq_context;
  verbs.pd = attributes->pd;
  verbs.cq = attributes->cq;
  verbs.wq_num = port->next_number();
  queue->errors_.set_up(queue->completions_, port->name(), "receive",
                        CompletionOpcode::kReceiveError, verbs.wq_num, 0);
  verbs.wq_type = attributes->wq_type;
  verbs.state = IBV_WQS_RESET;
  attributes->max_wr = std::bit_ceil(attributes->max_wr);
  attributes->max_sge = striding.log_count != 0 ? attributes->max_sge : segments;
  ++queue->completions_->users;
  ++owner_of<ProtectionDomain>(attributes->pd)->users;
  // Enough for another process to read where the queue receives into.
  log(LogLevel::kNotice, "%s: receive queue 0x%x: ring %p, %u entries of %u bytes", port->name(),
      verbs.wq_num, static_cast<void*>(ring), count, size);
  return queue;
}

ReceiveQueue::~ReceiveQueue() {
  --completions_->users;
  --owner_of<ProtectionDomain>(handle_.verbs.pd)->users;
  port_->memory().release(ring_);
  port_->memory().release_doorbell(doorbell_);
}

void ReceiveQueue::set_state(State state) {
  state_ = state;
  plain_ = state == State::kReady && !faults_.active() && !strip_vlan_ && striding_.log_count == 0;
}

int ReceiveQueue::modify(const ibv_wq_attr& attributes) {
  if ((attributes.attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0 &&
      attributes.curr_wq_state != handle_.verbs.state) {
    return EINVAL;
  }
  if ((attributes.attr_mask & IBV_WQ_ATTR_FLAGS) != 0) {
    constexpr auto kKnown = static_cast<uint32_t>(IBV_WQ_FLAGS_CVLAN_STRIPPING);
    if ((attributes.flags_mask & ~kKnown) != 0) return EOPNOTSUPP;
    if ((attributes.flags_mask & kKnown) != 0) strip_vlan_ = (attributes.flags & kKnown) != 0;
    set_state(state_);
  }
  if ((attributes.attr_mask & IBV_WQ_ATTR_STATE) == 0) return 0;
  switch (attributes.wq_state) {
    case IBV_WQS_RESET:
      set_state(State::kReset);
      break;
    case IBV_WQS_RDY:
      // The PMD asks again when it had no buffers to go on with the first time.
      if (state_ == State::kReady) break;
      if (state_ != State::kReset) return EINVAL;
      // From here on the program counts its entries from 0.
      doorbell_[kReceiveDoorbell] = 0;
      consumer_ = 0;
      posted_seen_ = 0;
      stride_ = 0;
      prefetched_ = 0;
      flushing_ = false;
      port_->remove_failed_queue(this);
      set_state(State::kReady);
      break;
    case IBV_WQS_ERR:
      set_state(State::kError);
      if (!flushing_) begin_flush();
      break;
    default:
      return EINVAL;
  }
  handle_.verbs.state = attributes.wq_state;
  return 0;
}

}  // namespace nearpool::connectx4
