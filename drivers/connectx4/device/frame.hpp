// SPDX-License-Identifier: BSD-3-Clause
// A frame on its way through the device: where its bytes lie, and what was learned about it. Frames
// travel in batches, so that one stage's cache misses overlap for all frames of the batch.
#pragma once

#include <array>
#include <cstdint>

#include "hot_memory.hpp"
#include "packet_info.hpp"

namespace nearpool::connectx4 {

class ReceiveQueue;

struct Segment {
  const uint8_t* data;
  uint32_t length;
};

constexpr uint32_t kBatchFrames = 32;
// A work queue entry has at most 63 segments of 16 bytes; an inline one may straddle the ring's
// end.
constexpr uint32_t kMostSegments = 64;
// Copied into the frame itself: enough for every header that is parsed.
constexpr uint32_t kHeadBytes = 128;

struct alignas(kCacheLine) Frame {
  std::array<uint8_t, kHeadBytes> head;

  const Segment* segments = nullptr;
  uint32_t length = 0;  // without FCS
  uint16_t segment_count = 0;
  uint16_t head_length = 0;   // min(length, kHeadBytes) bytes of head are valid
  uint16_t rest_segment = 0;  // where the bytes behind the head begin
  uint32_t rest_offset = 0;

  // Of the send work queue entry it came from.
  uint16_t wqe_index = 0;
  uint8_t wqe_units = 0;
  uint8_t checksum_request = 0;
  bool completion_wanted = false;
  bool head_changed = false;  // the head has bytes that the segments do not have
  bool lost = false;          // the wire loses it: sent, but never to arrive

  PacketInfo info;

  // The receiving port's decision.
  ReceiveQueue* queue = nullptr;
  uint32_t hash = 0;
  uint32_t flow_tag = 0;
  uint8_t hash_type = 0;

  // Copies the first bytes of the segments into head.
  void gather_head() {
    head_length = static_cast<uint16_t>(length < kHeadBytes ? length : kHeadBytes);
    uint32_t filled = 0;
    uint16_t index = 0;
    uint32_t offset = 0;
    while (filled < head_length) {
      const Segment& segment = segments[index];
      const uint32_t wanted = head_length - filled;
      const uint32_t part = segment.length < wanted ? segment.length : wanted;
      copy_bytes(head.data() + filled, segment.data, part);
      filled += part;
      if (part == segment.length) {
        ++index;
      } else {
        offset = part;
      }
    }
    rest_segment = index;
    rest_offset = offset;
  }
};

// Reads a frame's bytes in order: the head, then what the segments hold behind it.
class FrameReader {
 public:
  // `skipped` bytes at the start of the head are left out.
  explicit FrameReader(const Frame& frame, uint32_t skipped = 0)
      : frame_(frame),
        at_(frame.head.data() + skipped),
        left_(frame.head_length - skipped),
        next_(frame.rest_segment),
        offset_(frame.rest_offset) {}

  void read(uint8_t* to, uint32_t length) {
    for (;;) {
      const uint32_t part = left_ < length ? left_ : length;
      copy_bytes(to, at_, part);
      at_ += part;
      left_ -= part;
      length -= part;
      if (length == 0) return;
      to += part;
      advance();
    }
  }

  // The next contiguous piece, at most `most` bytes; a length of 0 at the end.
  Segment piece(uint32_t most) {
    while (left_ == 0 && next_ < frame_.segment_count)
      advance();
    const uint32_t part = left_ < most ? left_ : most;
    const Segment result{at_, part};
    at_ += part;
    left_ -= part;
    return result;
  }

 private:
  void advance() {
    const Segment& segment = frame_.segments[next_++];
    at_ = segment.data + offset_;
    left_ = segment.length - offset_;
    offset_ = 0;
  }

  const Frame& frame_;
  const uint8_t* at_;
  uint32_t left_;
  uint32_t next_;
  uint32_t offset_;
};

// Copies a whole frame to where it is to lie in one piece. Straight from the segments where that
// gives the same: the head was only just written, piece by piece, and reading it back in other
// pieces waits until all that was stored before it has reached the cache.
inline void copy_frame(uint8_t* to, const Frame& frame) {
  if (frame.head_changed) {
    FrameReader(frame).read(to, frame.length);
    return;
  }
  for (uint32_t i = 0; i < frame.segment_count; ++i) {
    const Segment& segment = frame.segments[i];
    copy_bytes(to, segment.data, segment.length);
    to += segment.length;
  }
}

struct FrameBatch {
  std::array<Frame, kBatchFrames> frames;
  std::array<Segment, kBatchFrames * kMostSegments> segments;
  uint32_t count = 0;
};

}  // namespace nearpool::connectx4
