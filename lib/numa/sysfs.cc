// SPDX-License-Identifier: BSD-3-Clause
#include "numa/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace nearpool::numa {
namespace {

constexpr std::string_view kBlanks = " \t\n";
// Above any id that the kernel hands out; keeps a damaged list from filling the memory.
constexpr std::uint64_t kMaxId = 65535;

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  text = trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<int> parse_id_list(std::string_view text) {
  std::vector<int> ids;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view part = trim(text.substr(start, comma - start));
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = parse_count(part.substr(0, dash));
    const auto last = dash == part.size() ? first : parse_count(part.substr(dash + 1));
    if (first && last && *last <= kMaxId) {
      for (std::uint64_t id = *first; id <= *last; ++id)
        ids.push_back(static_cast<int>(id));
    }
    start = comma + 1;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::optional<std::uint64_t> meminfo_bytes(std::string_view meminfo, std::string_view name) {
  for (std::size_t start = 0; start < meminfo.size();) {
    const std::size_t end = std::min(meminfo.find('\n', start), meminfo.size());
    const std::string_view line = meminfo.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    // "Node 0 MemFree" in a node's file, "MemFree" in the machine's.
    const std::string_view key = line.substr(0, colon);
    if (key.substr(key.find_last_of(' ') + 1) != name) continue;
    std::string_view value = trim(line.substr(colon + 1));
    if (value.size() > 3 && value.substr(value.size() - 3) == " kB") value.remove_suffix(3);
    const auto count = parse_count(value);
    if (!count || *count > std::numeric_limits<std::uint64_t>::max() / 1024) return std::nullopt;
    return *count * 1024;
  }
  return std::nullopt;
}

std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const auto number = parse_count(std::string_view(name).substr(prefix.size()));
    if (number && *number <= kMaxId) numbers.push_back(static_cast<int>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string node_path(const std::string& sysfs_root, int node) {
  return sysfs_root + "/node" + std::to_string(node);
}

}  // namespace nearpool::numa
