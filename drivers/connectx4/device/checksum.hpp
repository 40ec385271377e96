// SPDX-License-Identifier: BSD-3-Clause
// Internet checksums of frames whose bytes lie in several pieces.
#pragma once

#include <cstdint>

#include "frame.hpp"

namespace nearpool::connectx4 {

// The one's complement sum of bytes taken as big-endian 16-bit words, not inverted. Pieces of a
// longer row are added with `odd` set when an odd number of bytes came before.
class ChecksumSum {
 public:
  void add(const uint8_t* data, uint32_t length);
  void add_word(uint16_t value) { sum_ += value; }
  uint16_t folded() const;

 private:
  uint64_t sum_ = 0;  // of host-order (swapped) words; folded() undoes it
  bool odd_ = false;
};

struct ChecksumStatus {
  bool l3_ok = false;  // true as well for IPv6, which has none
  bool l4_ok = false;
};

// Of a frame that has IP.
ChecksumStatus verify_ip_checksums(const Frame& frame);

// What the device reports for a received frame. A UDP checksum of 0 over IPv4 means "none", and is
// ok.
inline ChecksumStatus verify_checksums(const Frame& frame) {
  if (frame.info.l3 == L3::kNone) return {};
  return verify_ip_checksums(frame);
}

// Writes the checksums that a send work queue entry asks for into the frame's head. A layer that
// the frame does not have is left alone.
void fill_checksums(Frame& frame, bool l3, bool l4);

}  // namespace nearpool::connectx4
