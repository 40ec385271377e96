// SPDX-License-Identifier: BSD-3-Clause
#include "packet_info.hpp"

#include "byte_order.hpp"
#include "formats.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kVlanTag = 4;
constexpr uint32_t kIpv6Header = 40;
constexpr uint32_t kLeastIpv4Header = 20;
constexpr uint32_t kLeastTcpHeader = 20;
constexpr uint32_t kUdpHeader = 8;
constexpr uint16_t kTypeCVlan = 0x8100;
constexpr uint16_t kTypeSVlan = 0x88a8;
constexpr uint16_t kTypeIp = 0x0800;
constexpr uint16_t kTypeIp6 = 0x86dd;
constexpr uint8_t kProtocolTcp = 6;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kFragmentHeader = 44;
constexpr uint32_t kFragmentHeaderSize = 8;
constexpr uint16_t kFragmentBits = 0x3fff;  // more fragments, and the offset

void parse_l4(const uint8_t* head, uint32_t length, uint32_t offset, uint32_t payload,
              PacketInfo& info) {
  if (info.fragment) return;
  if (info.protocol == kProtocolTcp) {
    if (length < offset + kLeastTcpHeader || payload < kLeastTcpHeader) return;
    info.l4 = L4::kTcp;
    info.header_type |= kTypeTcp;
  } else if (info.protocol == kProtocolUdp) {
    if (length < offset + kUdpHeader || payload < kUdpHeader) return;
    const uint32_t udp_length = load_be16(head + offset + 4);
    if (udp_length < kUdpHeader || udp_length > payload) return;
    payload = udp_length;
    info.l4 = L4::kUdp;
    info.header_type |= kTypeUdp;
  } else {
    return;
  }
  info.l4_offset = static_cast<uint16_t>(offset);
  info.l4_length = payload;
}

void parse_ipv4(const uint8_t* head, uint32_t length, uint32_t frame_length, uint32_t offset,
                PacketInfo& info) {
  if (length < offset + kLeastIpv4Header || head[offset] >> 4 != 4) return;
  const uint32_t header = (head[offset] & 15u) * 4;
  const uint32_t total = load_be16(head + offset + 2);
  if (header < kLeastIpv4Header || length < offset + header || total < header ||
      offset + total > frame_length) {
    return;
  }
  info.l3 = L3::kIpv4;
  info.header_type = kTypeIpv4;
  info.l3_offset = static_cast<uint16_t>(offset);
  info.fragment = (load_be16(head + offset + 6) & kFragmentBits) != 0;
  if (info.fragment) info.header_type |= kTypeFragment;
  info.protocol = head[offset + 9];
  parse_l4(head, length, offset + header, total - header, info);
}

void parse_ipv6(const uint8_t* head, uint32_t length, uint32_t frame_length, uint32_t offset,
                PacketInfo& info) {
  if (length < offset + kIpv6Header || head[offset] >> 4 != 6) return;
  const uint32_t payload = load_be16(head + offset + 4);
  if (offset + kIpv6Header + payload > frame_length) return;
  info.l3 = L3::kIpv6;
  info.header_type = kTypeIpv6;
  info.l3_offset = static_cast<uint16_t>(offset);
  info.protocol = head[offset + 6];
  if (info.protocol == kFragmentHeader && length >= offset + kIpv6Header + kFragmentHeaderSize) {
    info.fragment = true;
    info.header_type |= kTypeFragment;
    info.protocol = head[offset + kIpv6Header];
    return;
  }
  parse_l4(head, length, offset + kIpv6Header, payload, info);
}

}  // namespace

PacketInfo parse_packet(const uint8_t* head, uint32_t length, uint32_t frame_length) {
  PacketInfo info;
  if (length < kEthernetHeader) return info;
  uint32_t offset = kEthernetHeader;
  info.ethertype = load_be16(head + offset - 2);
  if (info.ethertype == kTypeCVlan || info.ethertype == kTypeSVlan) {
    if (length < offset + kVlanTag) return info;
    info.c_vlan = info.ethertype == kTypeCVlan;
    info.s_vlan = !info.c_vlan;
    info.vlan_tag = load_be16(head + offset);
    offset += kVlanTag;
    info.ethertype = load_be16(head + offset - 2);
    if (info.ethertype == kTypeCVlan && length >= offset + kVlanTag) {  // the inner of two tags
      offset += kVlanTag;
      info.ethertype = load_be16(head + offset - 2);
    }
  }
  if (info.ethertype == kTypeIp) {
    parse_ipv4(head, length, frame_length, offset, info);
  } else if (info.ethertype == kTypeIp6) {
    parse_ipv6(head, length, frame_length, offset, info);
  }
  return info;
}

}  // namespace nearpool::connectx4
