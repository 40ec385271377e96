// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/touch.hpp"

#include <rte_prefetch.h>
#include <tmmintrin.h>

#include <algorithm>
#include <cstring>

#include "datapath/frame.hpp"

namespace nearpool {
namespace {

constexpr uint32_t kMacs = 12;
constexpr unsigned kPrefetchAhead = 4;

// Frames that carry no whole Ethernet header leave the burst here.
unsigned remove_runts(rte_mbuf** burst, unsigned count, QueueCounters& counters) {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; i++) {
    if (burst[i]->pkt_len < kEthernetHeader) {
      rte_pktmbuf_free(burst[i]);
    } else {
      burst[kept++] = burst[i];
    }
  }
  counters.runt.add(count - kept);
  return kept;
}

void prefetch_first(rte_mbuf** burst, unsigned count) {
  for (unsigned i = 0; i < std::min(count, kPrefetchAhead); i++) {
    rte_prefetch0(rte_pktmbuf_mtod(burst[i], void*));
  }
}

// Calls `each` for each frame that is no runt, whose data is on its way to the cache by then.
template <class Each>
unsigned for_each_frame(rte_mbuf** burst, unsigned count, QueueCounters& counters, Each each) {
  prefetch_first(burst, count);
  bool runts = false;
  for (unsigned i = 0; i < count; i++) {
    if (i + kPrefetchAhead < count) {
      rte_prefetch0(rte_pktmbuf_mtod(burst[i + kPrefetchAhead], void*));
    }
    if (burst[i]->pkt_len < kEthernetHeader) [[unlikely]] {
      runts = true;
    } else {
      each(burst[i]);
    }
  }
  return runts ? remove_runts(burst, count, counters) : count;
}

unsigned touch_read_data(rte_mbuf** burst, unsigned count, QueueCounters& counters) {
  return for_each_frame(burst, count, counters, [](const rte_mbuf* frame) {
    // An empty first segment has no byte to read.
    if (frame->data_len == 0) return;
    const uint8_t first = *rte_pktmbuf_mtod(frame, const uint8_t*);
    asm volatile("" : : "r"(first));  // the read is the point: keep it
  });
}

bool is_malformed(const rte_mbuf* frame) {
  uint8_t copy[kParsedBytes];
  const uint32_t readable = std::min<uint32_t>(frame->pkt_len, kParsedBytes);
  // In place where the first segment holds it all.
  const void* bytes = rte_pktmbuf_read(frame, 0, readable, copy);
  if (bytes == nullptr) return true;  // the segments hold less than pkt_len says
  return parse_frame(static_cast<const uint8_t*>(bytes), readable, frame->pkt_len).kind ==
         FrameKind::kMalformed;
}

// @param swap  and change places of the addresses, for the verdict tx
template <bool swap>
unsigned touch_parse_ip(rte_mbuf** burst, unsigned count, QueueCounters& counters) {
  unsigned malformed = 0;
  count = for_each_frame(burst, count, counters, [&](rte_mbuf* frame) {
    malformed += is_malformed(frame);
    if constexpr (swap) swap_macs(frame);
  });
  if (malformed != 0) counters.malformed.add(malformed);
  return count;
}

unsigned touch_swap_macs(rte_mbuf** burst, unsigned count, QueueCounters& counters) {
  return for_each_frame(burst, count, counters, [](rte_mbuf* frame) { swap_macs(frame); });
}

}  // namespace

uint8_t* byte_at(rte_mbuf* frame, uint32_t index) {
  rte_mbuf* segment = frame;
  while (segment != nullptr && index >= segment->data_len) {
    index -= segment->data_len;
    segment = segment->next;
  }
  return segment == nullptr ? nullptr : rte_pktmbuf_mtod_offset(segment, uint8_t*, index);
}

void swap_macs(rte_mbuf* frame) {
  if (frame->data_len >= sizeof(__m128i)) [[likely]] {
    // Six bytes and six bytes change places, the four behind them stay.
    const __m128i order = _mm_setr_epi8(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
    auto* bytes = rte_pktmbuf_mtod(frame, __m128i*);
    _mm_storeu_si128(bytes, _mm_shuffle_epi8(_mm_loadu_si128(bytes), order));
    return;
  }
  if (frame->data_len >= kMacs) {
    uint8_t* bytes = rte_pktmbuf_mtod(frame, uint8_t*);
    uint8_t destination[6];
    std::memcpy(destination, bytes, 6);
    std::memcpy(bytes, bytes + 6, 6);
    std::memcpy(bytes + 6, destination, 6);
    return;
  }
  for (uint32_t i = 0; i < kMacs / 2; i++) {
    uint8_t* left = byte_at(frame, i);
    uint8_t* right = byte_at(frame, i + kMacs / 2);
    if (left == nullptr || right == nullptr) return;
    std::swap(*left, *right);
  }
}

void write_macs(rte_mbuf* frame, const std::array<uint8_t, 12>& addresses) {
  if (frame->data_len >= kMacs) [[likely]] {
    std::memcpy(rte_pktmbuf_mtod(frame, uint8_t*), addresses.data(), kMacs);
    return;
  }
  for (uint32_t i = 0; i < kMacs; i++) {
    uint8_t* byte = byte_at(frame, i);
    if (byte == nullptr) return;
    *byte = addresses[i];
  }
}

TouchFunction touch_function(Touch touch, Verdict verdict) {
  if (verdict == Verdict::kTx) {
    return touch == Touch::kParseIp ? touch_parse_ip<true> : touch_swap_macs;
  }
  switch (touch) {
    case Touch::kReadData:
      return touch_read_data;
    case Touch::kParseIp:
      return touch_parse_ip<false>;
    case Touch::kSwapMacs:
      return touch_swap_macs;
    case Touch::kNone:
      break;
  }
  return nullptr;
}

}  // namespace nearpool
