// SPDX-License-Identifier: BSD-3-Clause
#include "shm_ring.hpp"

#include "../device/byte_order.hpp"
#include "../device/send_entry.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint64_t kMask = ShmRing::kBytes - 1;

}  // namespace

bool ShmRing::append(const Frame& frame) {
  if (!writer_started_) {
    writer_started_ = true;
    written_ = shared_->written.load(std::memory_order_relaxed);
    read_seen_ = shared_->read.load(std::memory_order_acquire);
  }
  const uint32_t record =
      (static_cast<uint32_t>(sizeof(RecordHeader)) + frame.length + kAlignment - 1) / kAlignment *
      kAlignment;
  const auto until_end = static_cast<uint32_t>(kBytes - (written_ & kMask));
  const uint32_t skipped = record > until_end ? until_end : 0;
  if (written_ + skipped + record - read_seen_ > kBytes) {
    read_seen_ = shared_->read.load(std::memory_order_acquire);
    if (written_ + skipped + record - read_seen_ > kBytes) return false;
  }
  if (skipped != 0) {
    store(shared_->bytes + (written_ & kMask), RecordHeader{kSkip, 0});
    written_ += skipped;
  }
  uint8_t* to = shared_->bytes + (written_ & kMask);
  store(to, RecordHeader{frame.length, 0});
  FrameReader(frame).read(to + sizeof(RecordHeader), frame.length);
  written_ += record;
  return true;
}

void ShmRing::publish() {
  if (writer_started_) shared_->written.store(written_, std::memory_order_release);
}

bool ShmRing::peek(Segment& frame) {
  if (!reader_started_) {
    reader_started_ = true;
    peeked_ = shared_->read.load(std::memory_order_relaxed);
  }
  if (ends_count_ == kBatchFrames) return false;
  for (;;) {
    if (peeked_ == written_seen_ || written_seen_ == 0) {
      written_seen_ = shared_->written.load(std::memory_order_acquire);
      if (peeked_ == written_seen_) return false;
    }
    const uint8_t* record = shared_->bytes + (peeked_ & kMask);
    const auto until_end = static_cast<uint32_t>(kBytes - (peeked_ & kMask));
    // Read once: the writer could change it between a check and a use.
    const uint32_t length =
        std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(record)))
            .load(std::memory_order_relaxed);
    if (length == kSkip) {
      peeked_ += until_end;
      continue;
    }
    const uint64_t size =
        (sizeof(RecordHeader) + uint64_t{length} + kAlignment - 1) / kAlignment * kAlignment;
    if (length < kLeastFrameLength || length > kMostFrameLength || size > until_end ||
        written_seen_ - peeked_ > kBytes || size > written_seen_ - peeked_) {
      clear();  // the other side is confused: begin anew at its newest frame
      return false;
    }
    frame = {record + sizeof(RecordHeader), length};
    peeked_ += size;
    ends_[ends_count_++] = peeked_;
    return true;
  }
}

void ShmRing::consume(uint32_t frames) {
  if (frames != 0) {
    shared_->read.store(ends_[frames - 1], std::memory_order_release);
    peeked_ = ends_[frames - 1];
  } else if (ends_count_ != 0) {
    peeked_ = shared_->read.load(std::memory_order_relaxed);
  }
  ends_count_ = 0;
}

void ShmRing::clear() {
  reader_started_ = true;
  written_seen_ = shared_->written.load(std::memory_order_acquire);
  peeked_ = written_seen_;
  ends_count_ = 0;
  shared_->read.store(peeked_, std::memory_order_release);
}

}  // namespace nearpool::connectx4
