// SPDX-License-Identifier: BSD-3-Clause
#include "peer_wire.hpp"

#include "../device/adapter.hpp"
#include "../device/port.hpp"

namespace nearpool::connectx4 {

PeerWire::PeerWire(Port& port) : peer_index_(port.description()->index ^ 1u) {
}

uint32_t PeerWire::transmit(FrameBatch& batch, uint32_t count) {
  // Nobody has opened the far end: it is up, and drops what comes.
  if (peer_ == nullptr) return count;
  return peer_->receive(batch, 0, count);
}

uint32_t PeerWire::poll(FrameBatch&) {
  if (peer_ != nullptr) peer_->flush_failed_queues();
  return 0;
}

bool PeerWire::far_end_up() const {
  return peer_ == nullptr || (peer_->administratively_up() && !peer_->forced_down());
}

void PeerWire::ports_changed() {
  peer_ = Adapter::instance().find(peer_index_);
  // With an odd number of ports nobody is at the other end of the last one's cable, and a port with
  // another kind of wire has no socket for ours.
  if (peer_ != nullptr && peer_->config().wire != "peer") peer_ = nullptr;
}

uint32_t LoopWire::transmit(FrameBatch& batch, uint32_t count) {
  return port_.receive(batch, 0, count);
}

uint32_t LoopWire::poll(FrameBatch&) {
  port_.flush_failed_queues();
  return 0;
}

}  // namespace nearpool::connectx4
