// SPDX-License-Identifier: BSD-3-Clause
// What the device says it can do, and holds a program to.
#pragma once

#include <cstdint>

namespace nearpool::connectx4 {

constexpr char kFirmwareVersion[] = "12.28.2006";
constexpr uint32_t kVendorId = 0x02c9;
constexpr uint32_t kVendorPart = 4115;

constexpr int kLeastMtu = 68;
constexpr int kMostMtu = 9978;

constexpr uint32_t kMostSendEntries = 32768;
constexpr uint32_t kMostSendSegments = 30;
constexpr uint32_t kMostInlineData = 1024;
constexpr uint32_t kMostIndirectionEntries = 512;
constexpr uint32_t kMostCompletions = (1u << 22) - 1;

// Multi-packet receive queues, when offered.
constexpr uint32_t kLeastLogStrideBytes = 6;
constexpr uint32_t kMostLogStrideBytes = 13;
constexpr uint32_t kLeastLogStrides = 3;
constexpr uint32_t kMostLogStrides = 16;

}  // namespace nearpool::connectx4
