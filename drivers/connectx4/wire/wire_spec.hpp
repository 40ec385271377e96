// SPDX-License-Identifier: BSD-3-Clause
// The words in which a wire is asked for. The launcher checks them, the device follows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nearpool::connectx4 {

enum class WireKind { kPeer, kLoop, kTap, kPcap, kShm };

struct WireSpec {
  WireKind kind = WireKind::kPeer;
  // pcap
  std::string in;       // empty: nothing comes in
  std::string out;      // empty: what goes out is dropped
  uint64_t repeat = 1;  // times the file is played; 0: for ever
  // shm
  std::string name;
};

// "peer", "loop", "tap", "pcap:in=FILE:out=FILE:repeat=N" with each part optional, or "shm:NAME".
// False with a sentence for anything else.
bool parse_wire_spec(std::string_view text, WireSpec& spec, std::string& error);

}  // namespace nearpool::connectx4
