// SPDX-License-Identifier: BSD-3-Clause
#include "fault.hpp"

#include <charconv>

namespace nearpool::connectx4 {
namespace {

struct KindName {
  std::string_view name;
  FaultKind kind;
};
constexpr KindName kKinds[] = {
    {"rx-error", FaultKind::kRxError}, {"tx-error", FaultKind::kTxError},
    {"tx-stall", FaultKind::kTxStall}, {"no-buffer", FaultKind::kNoBuffer},
    {"flap", FaultKind::kFlap},
};

std::string_view next_part(std::string_view& text) {
  const size_t end = text.find(':');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

bool set_field(std::string_view field, Fault& fault) {
  const size_t equals = field.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = field.substr(0, equals);
  const std::string_view text = field.substr(equals + 1);
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return false;
  if (name == "at" && value != 0) {
    fault.at = value;
  } else if (name == "every") {
    fault.every = value;
  } else if (name == "count" && value != 0) {
    fault.count = value;
  } else if (name == "port" && value < Fault::kAny) {
    fault.port = static_cast<uint32_t>(value);
  } else if (name == "queue" && value < Fault::kAny) {
    fault.queue = static_cast<uint32_t>(value);
  } else if (name == "ms" && value <= 60'000) {
    fault.milliseconds = static_cast<uint32_t>(value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool parse_fault(std::string_view text, Fault& fault, std::string& error) {
  fault = Fault{};
  std::string_view rest = text;
  const std::string_view kind = next_part(rest);
  bool known = false;
  for (const KindName& entry : kKinds) {
    if (entry.name != kind) continue;
    fault.kind = entry.kind;
    known = true;
  }
  if (!known) {
    error = "fault '" + std::string(text) +
            "': the kind must be rx-error, tx-error, tx-stall, no-buffer or flap";
    return false;
  }
  while (!rest.empty()) {
    const std::string_view field = next_part(rest);
    if (!set_field(field, fault)) {
      error =
          "fault '" + std::string(text) + "': '" + std::string(field) +
          "' must be at=, every=, count=, port=, queue= or ms= with a number (at and count from "
          "1, ms up to 60000)";
      return false;
    }
  }
  return true;
}

FaultAction FaultTrigger::next() {
  ++frames_;
  for (Armed& armed : faults_) {
    if (armed.running != 0) {
      --armed.running;
      return FaultAction::kNoBuffer;
    }
    if (armed.due == 0 || frames_ < armed.due) continue;
    armed.due = armed.fault.every == 0 ? 0 : frames_ + armed.fault.every;
    switch (armed.fault.kind) {
      case FaultKind::kRxError:
      case FaultKind::kTxError:
        return FaultAction::kError;
      case FaultKind::kNoBuffer:
        armed.running = armed.fault.count - 1;
        return FaultAction::kNoBuffer;
      case FaultKind::kTxStall:
        stall_milliseconds_ = armed.fault.milliseconds;
        return FaultAction::kStall;
      case FaultKind::kFlap:
        break;
    }
  }
  return FaultAction::kNone;
}

}  // namespace nearpool::connectx4
