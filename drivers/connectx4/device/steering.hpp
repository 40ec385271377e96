// SPDX-License-Identifier: BSD-3-Clause
// Which queue a received frame goes to: rules with a mask and a value over the header fields,
// looked at in the order of their priorities. Both of the PMD's interfaces, Verbs flow
// specifications and direct rules, end here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "frame.hpp"

namespace nearpool::connectx4 {

class RssQueue;

// The header fields in the order of the device's outer-header match parameters, big-endian.
struct MatchKey {
  static constexpr uint32_t kBytes = 64;
  static constexpr uint32_t kWords = kBytes / 8;
  // Byte offsets.
  static constexpr uint32_t kSourceMac = 0;
  static constexpr uint32_t kEthertype = 6;
  static constexpr uint32_t kDestinationMac = 8;
  static constexpr uint32_t kVlanTag = 14;
  static constexpr uint32_t kProtocol = 16;
  static constexpr uint32_t kTrafficClass = 17;
  static constexpr uint32_t kFlags = 18;  // see below; bit 0 is the highest TCP flag
  static constexpr uint32_t kTcpFlags = 19;
  static constexpr uint32_t kTcpSource = 20;
  static constexpr uint32_t kTcpDestination = 22;
  static constexpr uint32_t kUnsupported = 24;  // 3 bytes: header length and check results
  static constexpr uint32_t kTimeToLive = 27;
  static constexpr uint32_t kUdpSource = 28;
  static constexpr uint32_t kUdpDestination = 30;
  static constexpr uint32_t kSourceAddress = 32;  // an IPv4 address is in the last 4 bytes
  static constexpr uint32_t kDestinationAddress = 48;
  static constexpr uint32_t kIpv4InAddress = 12;
  // Bits of kFlags.
  static constexpr uint8_t kCVlan = 0x80;
  static constexpr uint8_t kSVlan = 0x40;
  static constexpr uint8_t kFragment = 0x20;
  static constexpr uint8_t kIpVersionShift = 1;

  alignas(8) std::array<uint8_t, kBytes> bytes{};

  uint64_t word(uint32_t index) const {
    uint64_t value;
    __builtin_memcpy(&value, bytes.data() + index * 8, 8);
    return value;
  }
};

// The fields of a frame that carry information for `used` words (bit i: word i).
void build_match_key(const Frame& frame, uint32_t used, MatchKey& key);

enum class Verdict : uint8_t { kQueue, kDrop, kMiss };

struct SteeringRule {
  MatchKey mask;
  MatchKey value;
  uint32_t priority = 0;  // 0 first
  Verdict verdict = Verdict::kQueue;
  const RssQueue* target = nullptr;
  uint32_t flow_tag = 0;
  uint64_t sequence = 0;  // set by the table
};

class SteeringTable {
 public:
  static constexpr uint32_t kPriorities = 16;

  // The rule must live until it is removed. Device threads paused.
  void add(SteeringRule* rule);
  void remove(SteeringRule* rule);

  // Sets the frame's queue, hash and flow tag. Of rules of one priority the oldest wins.
  Verdict classify(Frame& frame) const;

  const std::vector<SteeringRule*>& rules() const { return rules_; }

 private:
  struct Term {
    uint32_t word;
    uint64_t mask;
    uint64_t value;
  };
  // A rule with only the words that its mask names.
  struct Compiled {
    uint32_t first_term = 0;
    uint32_t term_count = 0;
    Verdict verdict = Verdict::kMiss;
    const RssQueue* target = nullptr;
    uint32_t flow_tag = 0;
  };

  void compile();

  std::vector<SteeringRule*> rules_;
  std::vector<Compiled> compiled_;
  std::vector<Term> terms_;
  uint32_t used_words_ = 0;
  uint64_t next_sequence_ = 0;
};

}  // namespace nearpool::connectx4
