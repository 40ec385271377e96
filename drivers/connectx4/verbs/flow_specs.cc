// SPDX-License-Identifier: BSD-3-Clause
#include "flow_specs.hpp"

#include <cerrno>
#include <cstring>

#include "../device/byte_order.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint8_t kIpVersionMask = 0xf << MatchKey::kIpVersionShift;
constexpr uint8_t kProtocolTcp = 6;
constexpr uint8_t kProtocolUdp = 17;

struct RuleBytes {
  uint8_t* mask;
  uint8_t* value;

  void set(uint32_t offset, const void* mask_from, const void* value_from, uint32_t length) const {
    std::memcpy(mask + offset, mask_from, length);
    std::memcpy(value + offset, value_from, length);
  }
  void demand(uint32_t offset, uint8_t mask_bits, uint8_t value_bits) const {
    mask[offset] = static_cast<uint8_t>(mask[offset] | mask_bits);
    value[offset] = static_cast<uint8_t>((value[offset] & ~mask_bits) | value_bits);
  }
};

void add_ethernet(const ibv_flow_spec_eth& spec, const RuleBytes& to) {
  to.set(MatchKey::kSourceMac, spec.mask.src_mac, spec.val.src_mac, 6);
  to.set(MatchKey::kDestinationMac, spec.mask.dst_mac, spec.val.dst_mac, 6);
  to.set(MatchKey::kEthertype, &spec.mask.ether_type, &spec.val.ether_type, 2);
  to.set(MatchKey::kVlanTag, &spec.mask.vlan_tag, &spec.val.vlan_tag, 2);
  if (spec.mask.vlan_tag != 0) to.demand(MatchKey::kFlags, MatchKey::kCVlan, MatchKey::kCVlan);
}

void demand_version(uint8_t version, const RuleBytes& to) {
  to.demand(MatchKey::kFlags, kIpVersionMask,
            static_cast<uint8_t>(version << MatchKey::kIpVersionShift));
}

void add_ipv4_addresses(const ibv_flow_ipv4_filter& mask, const ibv_flow_ipv4_filter& value,
                        const RuleBytes& to) {
  demand_version(4, to);
  to.set(MatchKey::kSourceAddress + MatchKey::kIpv4InAddress, &mask.src_ip, &value.src_ip, 4);
  to.set(MatchKey::kDestinationAddress + MatchKey::kIpv4InAddress, &mask.dst_ip, &value.dst_ip, 4);
}

int add_ipv4(const ibv_flow_spec_ipv4_ext& spec, const RuleBytes& to) {
  if (spec.mask.flags != 0) return EOPNOTSUPP;
  demand_version(4, to);
  to.set(MatchKey::kSourceAddress + MatchKey::kIpv4InAddress, &spec.mask.src_ip, &spec.val.src_ip,
         4);
  to.set(MatchKey::kDestinationAddress + MatchKey::kIpv4InAddress, &spec.mask.dst_ip,
         &spec.val.dst_ip, 4);
  to.demand(MatchKey::kProtocol, spec.mask.proto, spec.val.proto & spec.mask.proto);
  to.demand(MatchKey::kTrafficClass, spec.mask.tos, spec.val.tos & spec.mask.tos);
  to.demand(MatchKey::kTimeToLive, spec.mask.ttl, spec.val.ttl & spec.mask.ttl);
  return 0;
}

int add_ipv6(const ibv_flow_spec_ipv6& spec, const RuleBytes& to) {
  if (spec.mask.flow_label != 0) return EOPNOTSUPP;
  demand_version(6, to);
  to.set(MatchKey::kSourceAddress, spec.mask.src_ip, spec.val.src_ip, 16);
  to.set(MatchKey::kDestinationAddress, spec.mask.dst_ip, spec.val.dst_ip, 16);
  to.demand(MatchKey::kProtocol, spec.mask.next_hdr, spec.val.next_hdr & spec.mask.next_hdr);
  to.demand(MatchKey::kTrafficClass, spec.mask.traffic_class,
            spec.val.traffic_class & spec.mask.traffic_class);
  to.demand(MatchKey::kTimeToLive, spec.mask.hop_limit, spec.val.hop_limit & spec.mask.hop_limit);
  return 0;
}

void add_ports(const ibv_flow_spec_tcp_udp& spec, bool tcp, const RuleBytes& to) {
  to.demand(MatchKey::kProtocol, 0xff, tcp ? kProtocolTcp : kProtocolUdp);
  to.set(tcp ? MatchKey::kTcpSource : MatchKey::kUdpSource, &spec.mask.src_port, &spec.val.src_port,
         2);
  to.set(tcp ? MatchKey::kTcpDestination : MatchKey::kUdpDestination, &spec.mask.dst_port,
         &spec.val.dst_port, 2);
}

// Bytes of a specification; 0 for a kind that the device does not know.
size_t size_of(ibv_flow_spec_type type) {
  switch (type) {
    case IBV_FLOW_SPEC_ETH:
      return sizeof(ibv_flow_spec_eth);
    case IBV_FLOW_SPEC_IPV4:
      return sizeof(ibv_flow_spec_ipv4);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return sizeof(ibv_flow_spec_ipv4_ext);
    case IBV_FLOW_SPEC_IPV6:
      return sizeof(ibv_flow_spec_ipv6);
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      return sizeof(ibv_flow_spec_tcp_udp);
    case IBV_FLOW_SPEC_ACTION_TAG:
      return sizeof(ibv_flow_spec_action_tag);
    case IBV_FLOW_SPEC_ACTION_DROP:
      return sizeof(ibv_flow_spec_action_drop);
    default:
      return 0;  // tunnels, inner headers, counters, encryption
  }
}

int add_spec(const ibv_flow_spec& spec, const RuleBytes& to, SteeringRule& rule) {
  switch (spec.hdr.type) {
    case IBV_FLOW_SPEC_ETH:
      add_ethernet(spec.eth, to);
      return 0;
    case IBV_FLOW_SPEC_IPV4:
      add_ipv4_addresses(spec.ipv4.mask, spec.ipv4.val, to);
      return 0;
    case IBV_FLOW_SPEC_IPV4_EXT:
      return add_ipv4(spec.ipv4_ext, to);
    case IBV_FLOW_SPEC_IPV6:
      return add_ipv6(spec.ipv6, to);
    case IBV_FLOW_SPEC_TCP:
      add_ports(spec.tcp_udp, true, to);
      return 0;
    case IBV_FLOW_SPEC_UDP:
      add_ports(spec.tcp_udp, false, to);
      return 0;
    case IBV_FLOW_SPEC_ACTION_TAG:
      rule.flow_tag = spec.flow_tag.tag_id;
      return 0;
    case IBV_FLOW_SPEC_ACTION_DROP:
      rule.verdict = Verdict::kDrop;
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

}  // namespace

int translate_flow(const ibv_flow_attr& attributes, SteeringRule& rule) {
  if (attributes.flags != 0 || attributes.comp_mask != 0) return EOPNOTSUPP;
  if (attributes.port != 1 || attributes.priority >= SteeringTable::kPriorities) return EINVAL;
  const RuleBytes to{rule.mask.bytes.data(), rule.value.bytes.data()};
  rule.priority = attributes.priority;
  rule.verdict = Verdict::kQueue;
  switch (attributes.type) {
    case IBV_FLOW_ATTR_NORMAL:
      break;
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      rule.priority = SteeringTable::kPriorities;  // behind all others
      break;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      rule.priority = SteeringTable::kPriorities;
      to.demand(MatchKey::kDestinationMac, 1, 1);
      break;
    default:
      return EOPNOTSUPP;
  }
  // The specifications follow the attributes. Their count is what says where they end: the PMD
  // leaves the attributes' own size at that of the attributes alone.
  const auto* at = reinterpret_cast<const uint8_t*>(&attributes + 1);
  for (uint32_t i = 0; i < attributes.num_of_specs; ++i) {
    // Copied, since they follow each other without regard to alignment.
    ibv_flow_spec spec{};
    std::memcpy(&spec.hdr, at, sizeof spec.hdr);
    const size_t size = size_of(spec.hdr.type);
    if (size == 0) return EOPNOTSUPP;
    if (spec.hdr.size != size) return EINVAL;
    std::memcpy(&spec, at, size);
    const int error = add_spec(spec, to, rule);
    if (error != 0) return error;
    at += size;
  }
  return 0;
}

}  // namespace nearpool::connectx4
