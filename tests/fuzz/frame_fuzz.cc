// SPDX-License-Identifier: BSD-3-Clause
// The frame parser on any bytes, whole and with only the first of them readable.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "datapath/frame.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nearpool;
  for (const size_t readable : {size, size / 2, size < kParsedBytes ? size : kParsedBytes}) {
    // A block of just these bytes: the sanitizer sees a read beyond them.
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[readable]);
    if (readable != 0) std::memcpy(bytes.get(), data, readable);
    const ParsedFrame frame = parse_frame(bytes.get(), readable, size);
    require((frame.kind == FrameKind::kRunt) == (readable < kEthernetHeader));
    require(frame.vlan_tags <= kMaxVlanTags);
    if (frame.kind != FrameKind::kIpv4 && frame.kind != FrameKind::kIpv6) continue;
    require(frame.l3_offset == kEthernetHeader + frame.vlan_tags * kVlanTag);
    require(frame.l3_offset + frame.l3_length <= size);
    require(frame.l3_length >= 20);
  }
  return 0;
}
