// SPDX-License-Identifier: BSD-3-Clause
// What send and receive queues do alike when something is wrong: error completions, and one line
// about the first access that the memory protection refused.
#pragma once

#include <cstdint>

#include "completion_queue.hpp"

namespace nearpool::connectx4 {

// An address in a work queue entry, as the program wrote it.
struct RefusedAccess {
  uint64_t address;
  uint32_t length;
  uint32_t key;
};

class QueueErrors {
 public:
  // `kind` as in "send"; `number` is the queue's; `tag` is what its completions carry.
  void set_up(CompletionQueue* completions, const char* port, const char* kind,
              CompletionOpcode opcode, uint32_t number, uint32_t tag);

  // Completes the entry at `index` in error. The completion queue must have room.
  void complete(Syndrome syndrome, uint16_t index) {
    completions_->push_error(opcode_, syndrome, tag_, index);
  }

  // Says it once: a queue whose memory is gone would say it for each entry.
  void report(const RefusedAccess& access, uint16_t index);

 private:
  CompletionQueue* completions_ = nullptr;
  const char* port_ = nullptr;
  const char* kind_ = nullptr;
  CompletionOpcode opcode_ = CompletionOpcode::kInvalid;
  uint32_t number_ = 0;
  uint32_t tag_ = 0;
  bool reported_ = false;
};

}  // namespace nearpool::connectx4
