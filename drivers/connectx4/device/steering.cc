// SPDX-License-Identifier: BSD-3-Clause
#include "steering.hpp"

#include <algorithm>

#include "byte_order.hpp"
#include "rss_queue.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t word_bit(uint32_t byte) {
  return 1u << (byte / 8);
}
constexpr uint32_t kL2Words = word_bit(MatchKey::kSourceMac) | word_bit(MatchKey::kDestinationMac);

void add_l3(const Frame& frame, MatchKey& key) {
  const PacketInfo& info = frame.info;
  const uint8_t* l3 = frame.head.data() + info.l3_offset;
  uint8_t* to = key.bytes.data();
  to[MatchKey::kProtocol] = info.protocol;
  if (info.fragment) to[MatchKey::kFlags] |= MatchKey::kFragment;
  if (info.l3 == L3::kIpv4) {
    to[MatchKey::kTrafficClass] = l3[1];
    to[MatchKey::kFlags] |= 4 << MatchKey::kIpVersionShift;
    to[MatchKey::kTimeToLive] = l3[8];
    copy_fixed<4>(to + MatchKey::kSourceAddress + MatchKey::kIpv4InAddress, l3 + 12);
    copy_fixed<4>(to + MatchKey::kDestinationAddress + MatchKey::kIpv4InAddress, l3 + 16);
  } else {
    to[MatchKey::kTrafficClass] = static_cast<uint8_t>(load_be16(l3) >> 4);
    to[MatchKey::kFlags] |= 6 << MatchKey::kIpVersionShift;
    to[MatchKey::kTimeToLive] = l3[7];
    copy_fixed<16>(to + MatchKey::kSourceAddress, l3 + 8);
    copy_fixed<16>(to + MatchKey::kDestinationAddress, l3 + 24);
  }
}

void add_l4(const Frame& frame, MatchKey& key) {
  const uint8_t* l4 = frame.head.data() + frame.info.l4_offset;
  uint8_t* to = key.bytes.data();
  if (frame.info.l4 == L4::kTcp) {
    copy_fixed<4>(to + MatchKey::kTcpSource, l4);
    to[MatchKey::kFlags] |= l4[12] & 1;
    to[MatchKey::kTcpFlags] = l4[13];
  } else {
    copy_fixed<4>(to + MatchKey::kUdpSource, l4);
  }
}

}  // namespace

void build_match_key(const Frame& frame, uint32_t used, MatchKey& key) {
  const PacketInfo& info = frame.info;
  uint8_t* to = key.bytes.data();
  copy_fixed<6>(to + MatchKey::kSourceMac, frame.head.data() + 6);
  store_be16(to + MatchKey::kEthertype, info.ethertype);
  copy_fixed<6>(to + MatchKey::kDestinationMac, frame.head.data());
  store_be16(to + MatchKey::kVlanTag, info.vlan_tag);
  if ((used & ~kL2Words) == 0) return;
  std::fill(to + MatchKey::kProtocol, to + MatchKey::kBytes, uint8_t{0});
  if (info.c_vlan) to[MatchKey::kFlags] |= MatchKey::kCVlan;
  if (info.s_vlan) to[MatchKey::kFlags] |= MatchKey::kSVlan;
  if (info.l3 != L3::kNone) add_l3(frame, key);
  if (info.l4 != L4::kNone) add_l4(frame, key);
}

void SteeringTable::add(SteeringRule* rule) {
  rule->sequence = next_sequence_++;
  rules_.push_back(rule);
  compile();
}

void SteeringTable::remove(SteeringRule* rule) {
  std::erase(rules_, rule);
  compile();
}

void SteeringTable::compile() {
  std::sort(rules_.begin(), rules_.end(), [](const SteeringRule* a, const SteeringRule* b) {
    return a->priority != b->priority ? a->priority < b->priority : a->sequence < b->sequence;
  });
  compiled_.clear();
  terms_.clear();
  used_words_ = 0;
  for (const SteeringRule* rule : rules_) {
    Compiled compiled;
    compiled.first_term = static_cast<uint32_t>(terms_.size());
    for (uint32_t i = 0; i < MatchKey::kWords; ++i) {
      const uint64_t mask = rule->mask.word(i);
      if (mask == 0) continue;
      terms_.push_back({i, mask, rule->value.word(i) & mask});
      used_words_ |= 1u << i;
    }
    compiled.term_count = static_cast<uint32_t>(terms_.size()) - compiled.first_term;
    compiled.verdict = rule->verdict;
    compiled.target = rule->target;
    compiled.flow_tag = rule->flow_tag;
    compiled_.push_back(compiled);
  }
}

Verdict SteeringTable::classify(Frame& frame) const {
  MatchKey key;
  if (used_words_ != 0) build_match_key(frame, used_words_, key);
  for (const Compiled& rule : compiled_) {
    bool matches = true;
    for (uint32_t i = 0; i < rule.term_count && matches; ++i) {
      const Term& term = terms_[rule.first_term + i];
      matches = (key.word(term.word) & term.mask) == term.value;
    }
    if (!matches) continue;
    if (rule.verdict != Verdict::kQueue) return rule.verdict;
    frame.flow_tag = rule.flow_tag;
    rule.target->pick(frame);
    return Verdict::kQueue;
  }
  return Verdict::kMiss;
}

}  // namespace nearpool::connectx4
