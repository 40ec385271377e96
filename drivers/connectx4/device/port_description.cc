// SPDX-License-Identifier: BSD-3-Clause
#include "port_description.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.hpp"

namespace nearpool::connectx4 {

PortCounters& PortDescription::counters() {
  std::call_once(mapped_, [this] {
    // Zeroes are counters at 0.
    static_assert(std::atomic<uint64_t>::is_always_lock_free, "shared between processes");
    const std::string path = std::string(handle.verbs.ibdev_path) + "/counters";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void* memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof(PortCounters)) == 0) {
      memory = mmap(nullptr, sizeof(PortCounters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) {
      log(LogLevel::kError, "%s: cannot map %s: counters start at 0 and other processes see none",
          handle.verbs.name, path.c_str());
      counters_ = new PortCounters;
    } else {
      counters_ = static_cast<PortCounters*>(memory);
    }
  });
  return *counters_;
}

}  // namespace nearpool::connectx4
