// SPDX-License-Identifier: BSD-3-Clause
// Names, lists, masks and pairs as users type them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "options.hpp"

namespace nearpool {
namespace {

template <class T>
struct NameValue {
  const char* name;
  T value;
};

// The first name of a value is the one that is printed; the others are testpmd's.
constexpr NameValue<Verdict> kVerdicts[] = {
    {"drop", Verdict::kDrop},         {"tx", Verdict::kTx},
    {"redirect", Verdict::kRedirect}, {"redirect-cpu", Verdict::kRedirectCpu},
    {"pass", Verdict::kPass},         {"rxonly", Verdict::kDrop},
    {"macswap", Verdict::kTx},        {"io", Verdict::kRedirect},
};
constexpr NameValue<Touch> kTouches[] = {
    {"no-touch", Touch::kNone},
    {"read-data", Touch::kReadData},
    {"parse-ip", Touch::kParseIp},
    {"swap-macs", Touch::kSwapMacs},
};
constexpr NameValue<Topology> kTopologies[] = {
    {"paired", Topology::kPaired},
    {"chained", Topology::kChained},
    {"loop", Topology::kLoop},
};

template <class T, size_t N>
Result<T> from_name(const NameValue<T> (&table)[N], const char* what, const std::string& name) {
  std::string allowed;
  for (const auto& entry : table) {
    if (name == entry.name) return entry.value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", entry.name);
  }
  return failure("{} '{}' is not known: use one of {}", what, name, allowed);
}

template <class T, size_t N>
const char* to_name(const NameValue<T> (&table)[N], T value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

// The whole of `text` as a number from 0 to `limit` - 1.
std::optional<unsigned> number(const std::string& text, unsigned limit, int base = 10) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || value >= limit) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (;;) {
    const size_t stop = text.find(separator, start);
    parts.push_back(text.substr(start, stop == std::string::npos ? stop : stop - start));
    if (stop == std::string::npos) return parts;
    start = stop + 1;
  }
}

}  // namespace

Result<Verdict> verdict_from_name(const std::string& name) {
  return from_name(kVerdicts, "forward mode", name);
}
Result<Touch> touch_from_name(const std::string& name) {
  return from_name(kTouches, "touch level", name);
}
Result<Topology> topology_from_name(const std::string& name) {
  return from_name(kTopologies, "port topology", name);
}
const char* verdict_name(Verdict verdict) {
  return to_name(kVerdicts, verdict);
}
const char* touch_name(Touch touch) {
  return to_name(kTouches, touch);
}
const char* topology_name(Topology topology) {
  return to_name(kTopologies, topology);
}

Result<std::vector<uint16_t>> parse_list(const std::string& text, uint16_t limit) {
  auto wrong = [&] {
    return failure("list '{}' is not of the form 0-2,5 with each number once and from 0 to {}",
                   text, limit - 1);
  };
  std::vector<uint16_t> list;
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, '-');
    if (ends.size() > 2) return wrong();
    const auto first = number(ends.front(), limit);
    const auto last = number(ends.back(), limit);
    if (!first || !last || *last < *first) return wrong();
    for (unsigned value = *first; value <= *last; value++) {
      if (std::find(list.begin(), list.end(), value) != list.end()) return wrong();
      list.push_back(static_cast<uint16_t>(value));
    }
  }
  return list;
}

Result<std::vector<uint16_t>> parse_mask(const std::string& text, uint16_t limit) {
  std::string digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.erase(0, 2);
  std::vector<uint16_t> list;
  for (size_t index = 0; index < digits.size(); index++) {
    const auto digit = number(digits.substr(digits.size() - 1 - index, 1), 16, 16);
    if (!digit) {
      list.clear();
      break;
    }
    for (unsigned bit = 0; bit < 4; bit++) {
      if ((*digit >> bit & 1) != 0) list.push_back(static_cast<uint16_t>(4 * index + bit));
    }
  }
  if (list.empty() || list.back() >= limit) {
    return failure(
        "mask '{}' is not a hexadecimal number with at least one bit set, all below bit {}", text,
        limit);
  }
  return list;
}

Result<std::pair<uint16_t, MacAddress>> parse_eth_peer(const std::string& text) {
  auto wrong = [&] {
    return failure("peer '{}' is not of the form PORT,XX:XX:XX:XX:XX:XX with PORT from 0 to 31",
                   text);
  };
  const auto parts = split(text, ',');
  if (parts.size() != 2) return wrong();
  const auto port = number(parts[0], 32);
  const auto bytes = split(parts[1], ':');
  MacAddress address{};
  if (!port || bytes.size() != address.size()) return wrong();
  for (size_t index = 0; index < address.size(); index++) {
    const auto byte = number(bytes[index], 256, 16);
    if (!byte || bytes[index].size() > 2) return wrong();
    address[index] = static_cast<uint8_t>(*byte);
  }
  return std::pair{static_cast<uint16_t>(*port), address};
}

Result<std::map<uint16_t, int>> parse_pairs(const std::string& text, int left_limit,
                                            int right_limit) {
  std::map<uint16_t, int> pairs;
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, ':');
    const auto left = number(ends.front(), static_cast<unsigned>(left_limit));
    const auto right = number(ends.back(), static_cast<unsigned>(right_limit));
    if (ends.size() != 2 || !left || !right ||
        !pairs.emplace(static_cast<uint16_t>(*left), static_cast<int>(*right)).second) {
      return failure(
          "'{}' is not of the form A:B,... with each A once and from 0 to {}, and B from 0 to {}",
          text, left_limit - 1, right_limit - 1);
    }
  }
  return pairs;
}

}  // namespace nearpool
