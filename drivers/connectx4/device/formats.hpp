// SPDX-License-Identifier: BSD-3-Clause
// The layouts through which the PMD and the device talk: work queue entries that the PMD writes and
// completion queue entries that the device writes. All fields are big-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpool::connectx4 {

// ---- completion queue entries -------------------------------------------------------------------

constexpr uint32_t kCompletionSize = 64;

enum class CompletionOpcode : uint8_t {
  kSend = 0x0,
  kReceive = 0x2,
  kSendError = 0xd,
  kReceiveError = 0xe,
  kInvalid = 0xf,
};

enum class Syndrome : uint8_t {
  kLocalLength = 0x01,      // the frame is longer than the posted buffers
  kLocalOperation = 0x02,   // the work queue entry makes no sense
  kLocalProtection = 0x04,  // key, address or length lies outside of the registered regions
  kFlushed = 0x05,          // posted to a queue that an earlier error has stopped
};

struct alignas(kCompletionSize) CompletionEntry {
  uint16_t reserved0;
  uint16_t wqe_id;  // multi-packet RQ: the work queue entry; wqe_counter is the stride then
  uint8_t lro_fields[8];
  uint32_t rss_hash;
  uint8_t rss_hash_type;
  uint8_t reserved1[11];
  uint8_t headers_ok;
  uint8_t header_type;
  uint16_t vlan;
  uint8_t lro_segments;  // never more than 0: no LRO
  uint8_t reserved2[11];
  uint32_t byte_count;
  uint64_t timestamp;  // an error entry has its syndrome in the last byte
  uint32_t flow_tag;   // a send entry: opcode << 24 | queue number
  uint16_t wqe_counter;
  uint8_t signature;
  uint8_t opcode_owner;  // opcode << 4 | format << 2 | owner
};
static_assert(sizeof(CompletionEntry) == kCompletionSize);
static_assert(offsetof(CompletionEntry, rss_hash) == 12);
static_assert(offsetof(CompletionEntry, headers_ok) == 28);
static_assert(offsetof(CompletionEntry, lro_segments) == 32);
static_assert(offsetof(CompletionEntry, byte_count) == 44);
static_assert(offsetof(CompletionEntry, timestamp) == 48);
static_assert(offsetof(CompletionEntry, flow_tag) == 56);
static_assert(offsetof(CompletionEntry, wqe_counter) == 60);
static_assert(offsetof(CompletionEntry, opcode_owner) == 63);

constexpr uint32_t kSyndromeOffset = 55;

// CompletionEntry::headers_ok
constexpr uint8_t kL2Ok = 1 << 0;
constexpr uint8_t kL3Ok = 1 << 1;
constexpr uint8_t kL4Ok = 1 << 2;
// CompletionEntry::header_type
constexpr uint8_t kVlanStripped = 1 << 0;
constexpr uint8_t kTypeIpv6 = 1 << 2;
constexpr uint8_t kTypeIpv4 = 2 << 2;
constexpr uint8_t kTypeTcp = 1 << 4;
constexpr uint8_t kTypeUdp = 2 << 4;
constexpr uint8_t kTypeFragment = 1 << 7;
// CompletionEntry::rss_hash_type
constexpr uint8_t kHashedIpv4 = 1 << 2;
constexpr uint8_t kHashedIpv6 = 2 << 2;
constexpr uint8_t kHashedTcp = 1 << 6;
constexpr uint8_t kHashedUdp = 2 << 6;
// CompletionEntry::byte_count of a multi-packet RQ
constexpr uint32_t kFillerStrides = 1u << 31;
constexpr uint32_t kStrideCountShift = 16;

// ---- work queue entries -------------------------------------------------------------------------

constexpr uint32_t kWqeUnit = 64;      // a send queue is a ring of these
constexpr uint32_t kSegmentSize = 16;  // and each entry a row of these

constexpr uint8_t kOpcodeNop = 0x00;
constexpr uint8_t kOpcodeSend = 0x0a;

// Byte offsets inside a send work queue entry.
constexpr uint32_t kSendOpcode = 0;           // 32 bit: modifier, index, opcode
constexpr uint32_t kSendQueueAndSize = 4;     // 32 bit: queue number << 8 | size in 16 B segments
constexpr uint32_t kSendCompletionMode = 11;  // bits 3:2; 2 and more ask for a completion
constexpr uint32_t kSendChecksumFlags = 20;
constexpr uint32_t kSendInlineHeaderSize = 28;
constexpr uint32_t kSendInlineHeader = 30;
constexpr uint32_t kSendControlSize = 32;
constexpr uint32_t kInlineHeaderInEthernetSegment = 2;

constexpr uint8_t kChecksumL3 = 1 << 6;
constexpr uint8_t kChecksumL4 = 1 << 7;
constexpr uint16_t kInlineHeaderSizeMask = 0x3ff;
constexpr uint32_t kInlineData = 1u << 31;

// A data segment: byte count, key, address.
constexpr uint32_t kDataByteCount = 0;
constexpr uint32_t kDataKey = 4;
constexpr uint32_t kDataAddress = 8;

// ---- doorbell records ---------------------------------------------------------------------------

constexpr uint32_t kReceiveDoorbell = 0;  // index of two 32-bit words
constexpr uint32_t kSendDoorbell = 1;
constexpr uint32_t kConsumerDoorbell = 0;  // of a completion queue
constexpr uint32_t kArmDoorbell = 1;
constexpr uint32_t kNeverArmed = ~0u;  // 0 is a valid request, so it cannot mean "none"

}  // namespace nearpool::connectx4
