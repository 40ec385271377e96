// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration file: options come out within their ranges, or one sentence.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nearpool;
  const int file = memfd_create("config", 0);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const auto parsed = parse_options({"--config", "/proc/self/fd/" + std::to_string(file)});
  close(file);
  if (!parsed) {
    if (parsed.error().empty()) std::abort();
    return 0;
  }
  const Options& options = parsed->options;
  const bool in_range = options.burst >= 1 && options.burst <= 512 && options.rxq >= 1 &&
                        options.rxd >= 1 && options.rxd <= 32768 && options.pool.bulk >= 4 &&
                        options.pool.bulk <= 512 && options.arena.mbuf_size >= 256;
  if (!in_range) std::abort();
  return 0;
}
