// SPDX-License-Identifier: BSD-3-Clause
// Reads one work queue entry of a send queue. The ring is memory that the program writes, so
// nothing in it is trusted.
#pragma once

#include <atomic>
#include <cstdint>

#include "byte_order.hpp"
#include "formats.hpp"
#include "frame.hpp"

namespace nearpool::connectx4 {

struct SendRing {
  const uint8_t* base = nullptr;
  uint32_t units = 0;  // of kWqeUnit bytes, a power of two

  const uint8_t* unit(uint16_t index) const {
    return base + static_cast<size_t>(index & (units - 1)) * kWqeUnit;
  }
  // The byte `offset` of the entry at `index`; an entry may run over the ring's end.
  const uint8_t* byte(uint16_t index, uint32_t offset) const {
    return base + ((static_cast<size_t>(index) * kWqeUnit + offset) &
                   (static_cast<size_t>(units) * kWqeUnit - 1));
  }
  const uint8_t* end() const { return base + static_cast<size_t>(units) * kWqeUnit; }
};

// Longer than any MTU the device can have.
constexpr uint32_t kMostFrameLength = 16384;
constexpr uint32_t kLeastFrameLength = 14;

enum class EntryStatus {
  kFrame,
  kNop,         // no frame, but maybe a completion
  kMalformed,   // opcode or sizes make no sense
  kProtection,  // a data segment lies outside of the registered memory
};

// In segments. A program may write it at any time, so who needs it twice keeps what was read first.
inline uint32_t entry_segments(const SendRing& ring, uint16_t index) {
  auto* word =
      reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(ring.unit(index)) + kSendQueueAndSize);
  // Orders nothing: the doorbell record has done that.
  return swap32(std::atomic_ref<uint32_t>(*word).load(std::memory_order_relaxed)) & 0x3f;
}

inline uint8_t units_of(uint32_t segments) {
  const uint32_t units = (segments * kSegmentSize + kWqeUnit - 1) / kWqeUnit;
  return static_cast<uint8_t>(units == 0 ? 1 : units);
}

inline uint8_t entry_units(const SendRing& ring, uint16_t index) {
  return units_of(entry_segments(ring, index));
}

inline bool entry_wants_completion(const SendRing& ring, uint16_t index) {
  return (ring.unit(index)[kSendCompletionMode] >> 2 & 3) >= 2;
}

// Adds inline bytes of the entry to the frame: in two pieces where the ring ends between them.
inline void add_inline(const SendRing& ring, uint16_t index, uint32_t offset, uint32_t length,
                       Frame& frame, Segment* segments) {
  const uint8_t* from = ring.byte(index, offset);
  const auto until_end = static_cast<uint32_t>(ring.end() - from);
  const uint32_t first = length < until_end ? length : until_end;
  segments[frame.segment_count++] = {from, first};
  if (first != length) segments[frame.segment_count++] = {ring.base, length - first};
  frame.length += length;
}

// Fills `frame` from the entry at `index`. `segments` has room for kMostSegments. `translate` takes
// key, address and length, and answers the memory or null.
template <typename Translate>
EntryStatus read_send_entry(const SendRing& ring, uint16_t index, Frame& frame, Segment* segments,
                            Translate&& translate) {
  const uint8_t* entry = ring.unit(index);
  const uint32_t entry_size = entry_segments(ring, index);
  const uint32_t size = entry_size * kSegmentSize;
  frame.segments = segments;
  frame.length = 0;
  frame.segment_count = 0;
  frame.wqe_index = index;
  frame.wqe_units = units_of(entry_size);
  frame.completion_wanted = entry_wants_completion(ring, index);
  frame.lost = false;
  frame.head_changed = false;

  const uint8_t opcode = entry[kSendOpcode + 3];
  if (opcode == kOpcodeNop) return EntryStatus::kNop;
  if (opcode != kOpcodeSend || size < kSendControlSize || frame.wqe_units > ring.units) {
    return EntryStatus::kMalformed;
  }
  frame.checksum_request = entry[kSendChecksumFlags];
  const uint32_t header = load_be16(entry + kSendInlineHeaderSize) & kInlineHeaderSizeMask;
  uint32_t offset = kSendControlSize;
  if (header > kInlineHeaderInEthernetSegment) {
    const uint32_t rest = header - kInlineHeaderInEthernetSegment;
    offset += (rest + kSegmentSize - 1) / kSegmentSize * kSegmentSize;
    if (offset > size) return EntryStatus::kMalformed;
  }
  if (header != 0) add_inline(ring, index, kSendInlineHeader, header, frame, segments);
  while (offset < size) {
    const uint8_t* segment = ring.byte(index, offset);
    const uint32_t count = load_be32(segment + kDataByteCount);
    if ((count & kInlineData) != 0) {
      const uint32_t length = count & ~kInlineData;
      const uint32_t room = size - offset - sizeof(uint32_t);
      if (length > room) return EntryStatus::kMalformed;
      if (length != 0) {
        add_inline(ring, index, offset + static_cast<uint32_t>(sizeof(uint32_t)), length, frame,
                   segments);
      }
      offset += (length + static_cast<uint32_t>(sizeof(uint32_t)) + kSegmentSize - 1) /
                kSegmentSize * kSegmentSize;
    } else {
      if (count > kMostFrameLength) return EntryStatus::kMalformed;
      if (count != 0) {
        const uint8_t* data =
            translate(load_be32(segment + kDataKey), load_be64(segment + kDataAddress), count);
        if (data == nullptr) return EntryStatus::kProtection;
        segments[frame.segment_count++] = {data, count};
        frame.length += count;
      }
      offset += kSegmentSize;
    }
  }
  if (frame.length < kLeastFrameLength || frame.length > kMostFrameLength) {
    return EntryStatus::kMalformed;
  }
  return EntryStatus::kFrame;
}

}  // namespace nearpool::connectx4
