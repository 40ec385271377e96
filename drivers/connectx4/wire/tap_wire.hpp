// SPDX-License-Identifier: BSD-3-Clause
// The port's cable ends at its control netdev: what the kernel sends there is received by the port,
// and the other way round. So ping, tcpdump and tcpreplay work on the netdev.
#pragma once

#include <array>
#include <vector>

#include "../device/wire.hpp"

namespace nearpool::connectx4 {

class TapWire : public Wire {
 public:
  explicit TapWire(Port& port);
  uint32_t transmit(FrameBatch& batch, uint32_t count) override;
  uint32_t poll(FrameBatch& batch) override;

 private:
  bool read_frame(uint32_t slot);

  Port& port_;
  std::vector<uint8_t> buffers_;  // kBatchFrames of them
  std::array<Segment, kBatchFrames> frames_{};
  uint32_t first_ = 0;  // frames read and not delivered: [first_, count_)
  uint32_t count_ = 0;
};

}  // namespace nearpool::connectx4
