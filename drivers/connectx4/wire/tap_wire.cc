// SPDX-License-Identifier: BSD-3-Clause
#include "tap_wire.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include "../device/port.hpp"
#include "../device/send_entry.hpp"
#include "frame_source.hpp"

namespace nearpool::connectx4 {

TapWire::TapWire(Port& port)
    : port_(port), buffers_(static_cast<size_t>(kBatchFrames) * kMostFrameLength) {
}

uint32_t TapWire::transmit(FrameBatch& batch, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const Frame& frame = batch.frames[i];
    if (frame.lost) continue;
    std::array<iovec, kMostSegments + 1> pieces;
    size_t used = 0;
    FrameReader reader(frame);
    for (uint32_t left = frame.length; left > 0;) {
      const Segment piece = reader.piece(left);
      pieces[used++] = {const_cast<uint8_t*>(piece.data), piece.length};
      left -= piece.length;
    }
    // A full or downed interface drops the frame, as the kernel does on any other.
    [[maybe_unused]] const ssize_t written =
        writev(port_.netdev().tap(), pieces.data(), static_cast<int>(used));
  }
  return count;
}

bool TapWire::read_frame(uint32_t slot) {
  uint8_t* buffer = buffers_.data() + static_cast<size_t>(slot) * kMostFrameLength;
  const ssize_t length = read(port_.netdev().tap(), buffer, kMostFrameLength);
  if (length < static_cast<ssize_t>(kLeastFrameLength)) return false;
  frames_[slot] = {buffer, static_cast<uint32_t>(length)};
  return true;
}

uint32_t TapWire::poll(FrameBatch& batch) {
  port_.flush_failed_queues();
  if (first_ == count_) {
    first_ = count_ = 0;
    while (count_ < kBatchFrames && read_frame(count_))
      ++count_;
    if (count_ == 0) return 0;
  }
  batch.count = 0;
  for (uint32_t i = first_; i < count_; ++i) {
    add_whole_frame(batch, frames_[i].data, frames_[i].length);
  }
  const uint32_t taken = port_.receive(batch, 0, batch.count);
  first_ += taken;
  return taken;
}

}  // namespace nearpool::connectx4
