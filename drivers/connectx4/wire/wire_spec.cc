// SPDX-License-Identifier: BSD-3-Clause
#include "wire_spec.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace nearpool::connectx4 {
namespace {

bool parse_pcap(std::string_view options, WireSpec& spec, std::string& error) {
  while (!options.empty()) {
    const size_t end = options.find(':');
    const std::string_view field = options.substr(0, end);
    options = end == std::string_view::npos ? std::string_view{} : options.substr(end + 1);
    const size_t equals = field.find('=');
    const std::string_view name = field.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1);
    bool good = !value.empty();
    if (name == "in") {
      spec.in = value;
    } else if (name == "out") {
      spec.out = value;
    } else if (name == "repeat") {
      const auto [stop, status] =
          std::from_chars(value.data(), value.data() + value.size(), spec.repeat);
      good = good && status == std::errc() && stop == value.data() + value.size();
    } else {
      good = false;
    }
    if (!good) {
      error = "wire pcap: '" + std::string(field) +
              "' must be in=FILE, out=FILE or repeat=N (0: for ever); file names have no colon";
      return false;
    }
  }
  if (spec.in.empty() && spec.out.empty()) {
    error = "wire pcap: name a file with in=FILE, out=FILE or both";
    return false;
  }
  return true;
}

bool parse_shm(std::string_view name, WireSpec& spec, std::string& error) {
  constexpr size_t kLongest = 64;
  const bool good = !name.empty() && name.size() <= kLongest &&
                    std::all_of(name.begin(), name.end(), [](unsigned char letter) {
                      return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
                    });
  if (!good) {
    error = "wire shm:" + std::string(name) +
            ": the name must be 1 to 64 letters, digits, dashes or underscores";
    return false;
  }
  spec.name = name;
  return true;
}

}  // namespace

bool parse_wire_spec(std::string_view text, WireSpec& spec, std::string& error) {
  spec = WireSpec{};
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view options =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (kind == "pcap") {
    spec.kind = WireKind::kPcap;
    return parse_pcap(options, spec, error);
  }
  if (kind == "shm") {
    spec.kind = WireKind::kShm;
    return parse_shm(options, spec, error);
  }
  if (text == "peer") {
    spec.kind = WireKind::kPeer;
  } else if (text == "loop") {
    spec.kind = WireKind::kLoop;
  } else if (text == "tap") {
    spec.kind = WireKind::kTap;
  } else {
    error = "wire '" + std::string(text) +
            "': must be peer, loop, tap, pcap:in=FILE:out=FILE:repeat=N or shm:NAME";
    return false;
  }
  return true;
}

}  // namespace nearpool::connectx4
