// SPDX-License-Identifier: BSD-3-Clause
#include "shaper.hpp"

#include <algorithm>
#include <charconv>

#include "clock.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kWireOverhead = 8 + 4 + 12;  // preamble, FCS, gap
// A thread that comes late may catch up on so much, and no more.
constexpr double kBurstSeconds = 0.0005;
constexpr double kLeastBurstFrames = 64;

double frame_cost(bool of_bits, uint32_t length) {
  return of_bits ? static_cast<double>(length + kWireOverhead) * 8 : 1.0;
}

}  // namespace

bool parse_rate(std::string_view text, Rate& rate, std::string& error) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  double scale = 1;
  if (!unit.empty()) {
    if (unit.front() == 'k') scale = 1e3;
    if (unit.front() == 'M') scale = 1e6;
    if (unit.front() == 'G') scale = 1e9;
    if (scale > 1) unit.remove_prefix(1);
  }
  if (status != std::errc() || value <= 0 || (unit != "pps" && unit != "bps")) {
    error = "rate '" + std::string(text) +
            "': must be a number above 0 and pps or bps, with k, M or G before it: 5Mpps, 10Gbps";
    return false;
  }
  rate.per_second = value * scale;
  rate.of_bits = unit == "bps";
  return true;
}

void Shaper::set_loss(double share, uint64_t seed) {
  loss_threshold_ = static_cast<uint64_t>(share * 4294967296.0);
  random_ = seed * 0x9e3779b97f4a7c15 | 1;
}

void Shaper::advance(uint64_t now) {
  const uint64_t passed = last_ == 0 ? 0 : now - last_;
  last_ = now;
  credit_ +=
      rate_.per_second * static_cast<double>(passed) / static_cast<double>(kNanosecondsPerSecond);
  const double burst =
      std::max(rate_.per_second * kBurstSeconds, kLeastBurstFrames * frame_cost(rate_.of_bits, 64));
  credit_ = std::min(credit_, burst);
}

bool Shaper::admit(uint32_t length) {
  if (credit_ <= 0) return false;
  credit_ -= frame_cost(rate_.of_bits, length);  // may go below 0: a long frame is paid for later
  return true;
}

bool Shaper::lose() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return (random_ >> 32) < loss_threshold_;
}

}  // namespace nearpool::connectx4
