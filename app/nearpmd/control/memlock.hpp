// SPDX-License-Identifier: BSD-3-Clause
// RLIMIT_MEMLOCK, of which a device that pins its memory says no more than ENOMEM.
#pragma once

#include <cstdint>
#include <string>

namespace nearpool {

// A warning if `bytes` are more than a device may pin, else empty.
// @param limit       RLIMIT_MEMLOCK, bytes
// @param privileged  the process has CAP_IPC_LOCK: the limit does not count
std::string memlock_warning(uint64_t bytes, uint64_t limit, bool privileged);
// The same with this process's limit and capabilities.
std::string memlock_warning(uint64_t bytes);

}  // namespace nearpool
