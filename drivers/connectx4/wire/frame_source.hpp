// SPDX-License-Identifier: BSD-3-Clause
// Turns frames that lie whole in memory into a batch for the receiving port.
#pragma once

#include "../device/frame.hpp"

namespace nearpool::connectx4 {

inline void add_whole_frame(FrameBatch& batch, const uint8_t* data, uint32_t length) {
  Frame& frame = batch.frames[batch.count];
  Segment& segment = batch.segments[batch.count];
  segment = {data, length};
  frame.segments = &segment;
  frame.segment_count = 1;
  frame.length = length;
  frame.lost = false;
  frame.head_changed = false;
  frame.gather_head();
  frame.info = parse_packet(frame.head.data(), frame.head_length, length);
  ++batch.count;
}

}  // namespace nearpool::connectx4
