// SPDX-License-Identifier: BSD-3-Clause
// A receive-side queue pair: an indirection table of receive queues, and the hash that picks one.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "frame.hpp"
#include "handle.hpp"
#include "toeplitz.hpp"

namespace nearpool::connectx4 {

class ReceiveQueue;
class Port;

struct IndirectionTable {
  Handle<ibv_rwq_ind_table, IndirectionTable> handle;
  Port* port = nullptr;
  std::vector<ReceiveQueue*> queues;  // a power of two of them
  std::atomic<uint32_t> users{0};
};

class RssQueue {
 public:
  RssQueue(IndirectionTable* table, const uint8_t* key, uint64_t fields)
      : table_(table), toeplitz_(key), fields_(fields) {}

  // Sets the frame's queue, hash and hash type.
  void pick(Frame& frame) const;

  IndirectionTable* table() const { return table_; }

  // Hash fields the device knows: addresses and TCP or UDP ports.
  static constexpr uint64_t kSupportedFields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                                               IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
                                               IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
                                               IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

 private:
  IndirectionTable* table_;
  Toeplitz toeplitz_;
  uint64_t fields_;
};

}  // namespace nearpool::connectx4
