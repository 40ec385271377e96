// SPDX-License-Identifier: BSD-3-Clause
#include "control/memlock.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>

namespace nearpool {
namespace {

constexpr unsigned kCapIpcLock = 14;  // CAP_IPC_LOCK

bool may_lock_all() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr char kField[] = "CapEff:";
    if (!line.starts_with(kField)) continue;
    return (std::stoull(line.substr(sizeof kField - 1), nullptr, 16) >> kCapIpcLock & 1) != 0;
  }
  return false;
}

}  // namespace

std::string memlock_warning(uint64_t bytes, uint64_t limit, bool privileged) {
  if (privileged || bytes <= limit) return {};
  return fmt::format(
      "RLIMIT_MEMLOCK lets a device pin {} bytes, and the page arena has {}: a device that pins "
      "its memory (mlx5, vfio) will refuse with 'Cannot allocate memory'; raise the limit (ulimit "
      "-l, LimitMEMLOCK=) or give the program CAP_IPC_LOCK",
      limit, bytes);
}

std::string memlock_warning(uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {};
  return memlock_warning(bytes, limit.rlim_cur, may_lock_all());
}

}  // namespace nearpool
