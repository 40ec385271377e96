// SPDX-License-Identifier: BSD-3-Clause
// A port whose frames come from a pcap file and go to another.
#pragma once

#include <string>

#include "../device/wire.hpp"
#include "pcap_file.hpp"
#include "wire_spec.hpp"

namespace nearpool::connectx4 {

class PcapWire : public Wire {
 public:
  static std::unique_ptr<Wire> open(Port& port, const WireSpec& spec, std::string& error);
  ~PcapWire() override;

  uint32_t transmit(FrameBatch& batch, uint32_t count) override;
  // Plays the file as fast as the port takes it, once the port has been listening for a while: a
  // program that starts makes its rules one by one.
  uint32_t poll(FrameBatch& batch) override;

 private:
  PcapWire(Port& port, const WireSpec& spec) : port_(port), spec_(spec) {}

  Port& port_;
  WireSpec spec_;
  PcapFrames input_;
  PcapWriter output_;
  bool may_play();

  size_t next_ = 0;
  uint64_t listening_since_ = 0;  // nanoseconds; 0: not yet
  uint64_t played_ = 0;
};

}  // namespace nearpool::connectx4
