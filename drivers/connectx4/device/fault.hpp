// SPDX-License-Identifier: BSD-3-Clause
// Faults that a test asks for: KIND[:at=K][:every=E][:count=N][:port=P][:queue=Q][:ms=T], where
// KIND is
//   rx-error     the K-th frame of a receive queue completes in error, as if its buffer were
//   foreign tx-error     the K-th entry of a send queue likewise tx-stall     a send queue stands
//   still for T ms from its K-th entry on no-buffer    a receive queue has no buffer for N frames
//   from the K-th on flap         the link of a port goes down T1 = at ms after it was opened, for
//   `ms` ms
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nearpool::connectx4 {

enum class FaultKind : uint8_t { kRxError, kTxError, kTxStall, kNoBuffer, kFlap };
enum class FaultSide : uint8_t { kReceive, kSend };

struct Fault {
  static constexpr uint32_t kAny = ~0u;

  FaultKind kind = FaultKind::kRxError;
  uint32_t port = kAny;
  uint32_t queue = kAny;  // in the order in which the port's queues were made
  uint64_t at = 1;        // counted from 1
  uint64_t every = 0;     // again after so many; 0: once
  uint64_t count = 1;     // frames of a no-buffer fault
  uint32_t milliseconds = 10;
};

// Parses one specification. `error` gets a sentence when the result is false.
bool parse_fault(std::string_view text, Fault& fault, std::string& error);

enum class FaultAction : uint8_t { kNone, kError, kNoBuffer, kStall };

// The faults of one queue, counted by its frames.
class FaultTrigger {
 public:
  bool active() const { return !faults_.empty(); }
  void add(const Fault& fault) { faults_.push_back({fault, fault.at, 0}); }
  // What is to happen to the next frame.
  FaultAction next();
  // Of the stall that next() has just asked for.
  uint32_t stall_milliseconds() const { return stall_milliseconds_; }

 private:
  struct Armed {
    Fault fault;
    uint64_t due = 0;
    uint64_t running = 0;  // frames left of a no-buffer fault
  };
  std::vector<Armed> faults_;
  uint64_t frames_ = 0;
  uint32_t stall_milliseconds_ = 0;
};

}  // namespace nearpool::connectx4
