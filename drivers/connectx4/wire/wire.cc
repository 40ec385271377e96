// SPDX-License-Identifier: BSD-3-Clause
#include "../device/wire.hpp"

#include "pcap_wire.hpp"
#include "peer_wire.hpp"
#include "shm_wire.hpp"
#include "tap_wire.hpp"
#include "wire_spec.hpp"

namespace nearpool::connectx4 {

uint32_t Wire::poll(FrameBatch&) {
  return 0;
}

std::unique_ptr<Wire> make_wire(Port& port, const std::string& text, std::string& error) {
  WireSpec spec;
  if (!parse_wire_spec(text, spec, error)) return nullptr;
  switch (spec.kind) {
    case WireKind::kPeer:
      return std::make_unique<PeerWire>(port);
    case WireKind::kLoop:
      return std::make_unique<LoopWire>(port);
    case WireKind::kTap:
      return std::make_unique<TapWire>(port);
    case WireKind::kPcap:
      return PcapWire::open(port, spec, error);
    case WireKind::kShm:
      return ShmWire::open(port, spec.name, error);
  }
  return nullptr;
}

}  // namespace nearpool::connectx4
