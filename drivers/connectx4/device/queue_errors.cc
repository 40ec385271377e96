// SPDX-License-Identifier: BSD-3-Clause
#include "queue_errors.hpp"

#include <cinttypes>

#include "log.hpp"

namespace nearpool::connectx4 {

void QueueErrors::set_up(CompletionQueue* completions, const char* port, const char* kind,
                         CompletionOpcode opcode, uint32_t number, uint32_t tag) {
  completions_ = completions;
  port_ = port;
  kind_ = kind;
  opcode_ = opcode;
  number_ = number;
  tag_ = tag;
}

void QueueErrors::report(const RefusedAccess& access, uint16_t index) {
  if (reported_) return;
  reported_ = true;
  log(LogLevel::kError,
      "%s: %s queue 0x%x, index %u: protection error: address 0x%" PRIx64
      ", length %u, key 0x%x is not memory of the queue's protection domain that it may %s",
      port_, kind_, number_, index, access.address, access.length, access.key,
      opcode_ == CompletionOpcode::kSendError ? "read" : "write");
}

}  // namespace nearpool::connectx4
