// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_wire.hpp"

#include "../device/clock.hpp"
#include "../device/port.hpp"
#include "frame_source.hpp"

namespace nearpool::connectx4 {

std::unique_ptr<Wire> PcapWire::open(Port& port, const WireSpec& spec, std::string& error) {
  std::unique_ptr<PcapWire> wire(new PcapWire(port, spec));
  if (!spec.in.empty() && !wire->input_.read(spec.in, error)) return nullptr;
  if (!spec.out.empty() && !wire->output_.open(spec.out, error)) return nullptr;
  return wire;
}

PcapWire::~PcapWire() {
  output_.flush();
}

uint32_t PcapWire::transmit(FrameBatch& batch, uint32_t count) {
  if (spec_.out.empty()) return count;
  const uint64_t now = now_nanoseconds();
  for (uint32_t i = 0; i < count; ++i) {
    const Frame& frame = batch.frames[i];
    if (frame.lost) continue;
    output_.begin(now, frame.length);
    FrameReader reader(frame);
    for (uint32_t left = frame.length; left > 0;) {
      const Segment piece = reader.piece(left);
      output_.add(piece.data, piece.length);
      left -= piece.length;
    }
  }
  return count;
}

bool PcapWire::may_play() {
  constexpr uint64_t kSettling = 200 * kNanosecondsPerMillisecond;
  if (next_ != 0 || played_ != 0) return true;
  if (!port_.listens()) {
    listening_since_ = 0;
    return false;
  }
  const uint64_t now = now_nanoseconds();
  if (listening_since_ == 0) listening_since_ = now;
  return now - listening_since_ >= kSettling;
}

uint32_t PcapWire::poll(FrameBatch& batch) {
  port_.flush_failed_queues();
  if (input_.frames.empty() || (spec_.repeat != 0 && played_ == spec_.repeat)) return 0;
  if (!may_play()) return 0;
  batch.count = 0;
  size_t next = next_;
  while (batch.count < kBatchFrames && next < input_.frames.size()) {
    const PcapFrames::Frame& frame = input_.frames[next++];
    add_whole_frame(batch, input_.bytes.data() + frame.offset, frame.length);
  }
  const uint32_t taken = port_.receive(batch, 0, batch.count);
  next_ += taken;
  if (next_ == input_.frames.size()) {
    next_ = 0;
    ++played_;
  }
  return taken;
}

}  // namespace nearpool::connectx4
