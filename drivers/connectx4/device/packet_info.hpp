// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace nearpool::connectx4 {

enum class L3 : uint8_t { kNone, kIpv4, kIpv6 };
enum class L4 : uint8_t { kNone, kTcp, kUdp };

// What the headers of a frame say. Offsets count from the frame's first byte and are valid only
// where the layer is not kNone.
struct PacketInfo {
  uint16_t ethertype = 0;  // behind the VLAN tags
  uint16_t vlan_tag = 0;   // of the outer tag
  bool c_vlan = false;     // the outer tag has type 0x8100
  bool s_vlan = false;     // or 0x88a8
  L3 l3 = L3::kNone;
  L4 l4 = L4::kNone;
  bool fragment = false;
  uint8_t protocol = 0;
  uint8_t header_type = 0;  // of the layers found, as a completion entry has it
  uint16_t l3_offset = 0;
  uint16_t l4_offset = 0;
  uint32_t l4_length = 0;  // header and payload as the IP header has it
};

// Parses the `length` bytes at `head`, the start of a frame of `frame_length` bytes. A header that
// is cut off or says a length beyond the frame's ends the parse: its layer is kNone.
PacketInfo parse_packet(const uint8_t* head, uint32_t length, uint32_t frame_length);

}  // namespace nearpool::connectx4
