// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "doctor/checks.hpp"

namespace nearpool::doctor {
namespace {

constexpr const char* kTopic = "plugin";
constexpr const char* kName = "librte_mempool_page_pool.so";
constexpr unsigned kOthersMayWrite = 0002;

// The first directory on the way to `path` that everybody may write to: the EAL loads nothing
// there.
std::string open_directory(const Machine& machine, const std::string& path) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos;
       slash = path.rfind('/', slash - 1)) {
    const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
    if ((machine.mode(directory).value_or(0) & kOthersMayWrite) != 0) return directory;
    if (slash == 0) break;
  }
  // The EAL looks at the file's own bits too.
  return (machine.mode(path).value_or(0) & kOthersMayWrite) != 0 ? path : std::string();
}

Finding look_at(const Machine& machine, const std::string& path) {
  const std::string real = machine.resolved(path);
  if (real.empty()) {
    return {Health::kStops, kTopic, fmt::format("{}: there is no such file", path),
            "install it (meson install), or name it with -d"};
  }
  const std::string open = open_directory(machine, real);
  if (!open.empty()) {
    return {Health::kStops, kTopic, fmt::format("{}: everybody may write to {}", path, open),
            fmt::format("the EAL loads nothing from there: chmod o-w {}, or install it elsewhere",
                        open)};
  }
  return {Health::kGood, kTopic, fmt::format("{} can be loaded", path), ""};
}

}  // namespace

Findings check_plugin(const Visit& visit) {
  Findings findings;
  for (const std::string& path : visit.loaded)
    if (path.find('/') != std::string::npos) findings.push_back(look_at(visit.machine, path));
  const std::string standard = visit.driver_directory + "/" + kName;
  // A link that leads nowhere is no link for exists(), so it is looked for by name.
  bool named = false;
  for (const std::string& entry : visit.machine.entries(visit.driver_directory))
    named = named || entry == kName;
  if (named) {
    findings.push_back(look_at(visit.machine, standard));
  } else if (findings.empty()) {
    findings.push_back(
        {Health::kSlow, kTopic,
         fmt::format("not in {}, where the EAL looks by itself", visit.driver_directory),
         "nearpmd has it linked in; other programs need meson install, or -d PATH"});
  }
  return findings;
}

}  // namespace nearpool::doctor
