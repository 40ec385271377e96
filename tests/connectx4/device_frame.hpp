// SPDX-License-Identifier: BSD-3-Clause
// A frame as the device has it, cut into pieces in memory of exactly their size, so that the
// sanitizers see a byte too many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/frame.hpp"

namespace nearpool::connectx4::test {

class DeviceFrame {
 public:
  // `cuts` are the lengths of the first pieces; the rest is one more.
  explicit DeviceFrame(const std::vector<uint8_t>& bytes, const std::vector<uint32_t>& cuts = {}) {
    uint32_t at = 0;
    const auto total = static_cast<uint32_t>(bytes.size());
    const auto add = [&](uint32_t length) {
      auto piece = std::make_unique<uint8_t[]>(length);
      std::copy_n(bytes.begin() + at, length, piece.get());
      segments_.push_back({piece.get(), length});
      pieces_.push_back(std::move(piece));
      at += length;
    };
    for (const uint32_t cut : cuts)
      add(std::min(cut, total - at));
    if (at < total) add(total - at);
    frame_->segments = segments_.data();
    frame_->segment_count = static_cast<uint16_t>(segments_.size());
    frame_->length = total;
    frame_->gather_head();
    frame_->info = parse_packet(frame_->head.data(), frame_->head_length, total);
  }

  Frame& get() { return *frame_; }
  std::vector<uint8_t> all() const {
    auto bytes = std::vector<uint8_t>(frame_->length);
    FrameReader(*frame_).read(bytes.data(), frame_->length);
    return bytes;
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> pieces_;
  std::vector<Segment> segments_;
  std::unique_ptr<Frame> frame_ = std::make_unique<Frame>();
};

}  // namespace nearpool::connectx4::test
