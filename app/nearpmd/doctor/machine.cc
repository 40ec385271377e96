// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/machine.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace nearpool::doctor {
namespace {

namespace fs = std::filesystem;
constexpr const char* kNodes = "/sys/devices/system/node";
constexpr const char* kBlanks = " \t\r\n";
constexpr int kMostNumbers = 4096;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool Machine::exists(const std::string& path) const {
  std::error_code failed;
  return fs::exists(root_ + path, failed);
}

std::string Machine::read(const std::string& path) const {
  std::ifstream file(root_ + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::string> Machine::word(const std::string& path) const {
  std::ifstream file(root_ + path);
  if (!file) return std::nullopt;
  return trimmed({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

std::optional<long> Machine::number(const std::string& path) const {
  const auto text = word(path);
  long value = 0;
  if (!text) return std::nullopt;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string> Machine::entries(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(root_ + path, failed), end; !failed && at != end;
       at.increment(failed)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Machine::link_name(const std::string& path) const {
  std::error_code failed;
  const fs::path target = fs::read_symlink(root_ + path, failed);
  return failed ? std::string() : target.filename().string();
}

std::optional<unsigned> Machine::mode(const std::string& path) const {
  struct stat seen {};
  if (stat((root_ + path).c_str(), &seen) != 0) return std::nullopt;
  return seen.st_mode & 07777U;
}

std::string Machine::resolved(const std::string& path) const {
  std::error_code failed;
  const std::string real = fs::canonical(root_ + path, failed);
  if (failed) return {};
  const std::string root = root_.empty() ? "" : fs::canonical(root_, failed).string();
  return real.starts_with(root) ? real.substr(root.size()) : real;
}

std::map<int, std::vector<int>> Machine::nodes() const {
  std::map<int, std::vector<int>> nodes;
  for (const std::string& name : entries(kNodes)) {
    if (!name.starts_with("node")) continue;
    const auto id = whole(std::string_view(name).substr(4));
    if (id) nodes[*id] = numbers_of(read(std::string(kNodes) + "/" + name + "/cpulist"));
  }
  if (nodes.empty()) nodes[0] = numbers_of(read("/sys/devices/system/cpu/online"));
  return nodes;
}

int Machine::node_of_cpu(int cpu) const {
  for (const auto& [node, cpus] : nodes()) {
    if (std::binary_search(cpus.begin(), cpus.end(), cpu)) return node;
  }
  return -1;
}

std::string Machine::own_status(std::string_view name) const {
  std::string status = read("/proc/self/status");
  status.insert(status.begin(), '\n');
  const size_t at = status.find(fmt::format("\n{}:", name));
  if (at == std::string::npos) return {};
  const size_t from = at + name.size() + 2;
  return trimmed(status.substr(from, status.find('\n', from) - from));
}

std::vector<int> numbers_of(std::string_view text) {
  std::vector<int> numbers;
  for (size_t start = 0; start < text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    const std::string part = trimmed(std::string(text.substr(start, comma - start)));
    const size_t dash = std::min(part.find('-'), part.size());
    const auto first = whole(std::string_view(part).substr(0, dash));
    const auto last = dash == part.size() ? first : whole(std::string_view(part).substr(dash + 1));
    if (first && last && *first >= 0 && *last < kMostNumbers) {
      for (int number = *first; number <= *last; number++)
        numbers.push_back(number);
    }
    start = comma + 1;
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::string ranges_of(const std::vector<int>& numbers) {
  std::string text;
  for (size_t at = 0; at < numbers.size();) {
    size_t end = at;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1)
      end++;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers[at]);
    if (end > at) text.append(end == at + 1 ? "," : "-").append(std::to_string(numbers[end]));
    at = end + 1;
  }
  return text;
}

}  // namespace nearpool::doctor
