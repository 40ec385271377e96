// SPDX-License-Identifier: BSD-3-Clause
// A cable to a port in another process, through a shared file. The first port that names it takes
// one end, the second the other.
#pragma once

#include <memory>
#include <string>

#include "../device/wire.hpp"
#include "shm_ring.hpp"

namespace nearpool::connectx4 {

class ShmWire : public Wire {
 public:
  static std::unique_ptr<Wire> open(Port& port, const std::string& name, std::string& error);
  ~ShmWire() override;

  uint32_t transmit(FrameBatch& batch, uint32_t count) override;
  uint32_t poll(FrameBatch& batch) override;

 private:
  struct Shared;

  ShmWire(Port& port, Shared* shared, int file, int lock, uint32_t end);

  Port& port_;
  Shared* shared_;
  int file_;
  int lock_;  // locked for as long as this end is held; the system lets go of it in a crash
  ShmRing out_;
  ShmRing in_;
};

}  // namespace nearpool::connectx4
