// SPDX-License-Identifier: BSD-3-Clause
// What a port's frames go to and come from. A batch is one call: nothing is virtual per frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "frame.hpp"

namespace nearpool::connectx4 {

class Port;

class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Takes the first `count` frames of the batch in order, skipping those marked lost; the result is
  // less than `count` only when the far end pushes back, and the rest is offered again later.
  virtual uint32_t transmit(FrameBatch& batch, uint32_t count) = 0;

  // Delivers what has come in to the port. Returns the frames delivered. `batch` is scratch memory.
  // Who delivers to a port also flushes its failed queues here.
  virtual uint32_t poll(FrameBatch& batch) = 0;

  // Whether the other end is there and up.
  virtual bool far_end_up() const { return true; }

  // A port was opened or closed. Device threads paused.
  virtual void ports_changed() {}
};

// The wire that `spec` (see wire_spec.h) asks for. Null with a sentence.
std::unique_ptr<Wire> make_wire(Port& port, const std::string& spec, std::string& error);

}  // namespace nearpool::connectx4
