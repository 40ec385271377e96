// SPDX-License-Identifier: BSD-3-Clause
// core_distance CPU CPU: prints the nanoseconds a cache line takes there and back.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core_distance.hpp"

namespace {

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= 1024) return {};
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const auto cpu = argc == 3 ? number(argv[1]) : std::nullopt;
  const auto other = argc == 3 ? number(argv[2]) : std::nullopt;
  if (!cpu || !other || *cpu == *other) {
    fmt::print(stderr, "usage: core_distance CPU CPU   two different CPUs, 0 to 1023\n");
    return 2;
  }
  const double nanoseconds = nearpool::bench::core_distance(*cpu, *other);
  if (std::isnan(nanoseconds)) {
    fmt::print(stderr, "core_distance: no thread can be had on CPU {} or {}\n", *cpu, *other);
    return 1;
  }
  fmt::print("{:.1f}\n", nanoseconds);
  return 0;
}
