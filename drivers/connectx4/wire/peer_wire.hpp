// SPDX-License-Identifier: BSD-3-Clause
// Cables inside the process: between ports 0 and 1, 2 and 3 and so on, or from a port to itself.
// Frames go from the sender's memory to the receiver's in one copy.
#pragma once

#include "../device/wire.hpp"

namespace nearpool::connectx4 {

class PeerWire : public Wire {
 public:
  explicit PeerWire(Port& port);
  uint32_t transmit(FrameBatch& batch, uint32_t count) override;
  uint32_t poll(FrameBatch& batch) override;
  bool far_end_up() const override;
  void ports_changed() override;

 private:
  uint32_t peer_index_;
  Port* peer_ = nullptr;  // while it is open
};

class LoopWire : public Wire {
 public:
  explicit LoopWire(Port& port) : port_(port) {}
  uint32_t transmit(FrameBatch& batch, uint32_t count) override;
  uint32_t poll(FrameBatch& batch) override;

 private:
  Port& port_;
};

}  // namespace nearpool::connectx4
