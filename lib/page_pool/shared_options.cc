// SPDX-License-Identifier: BSD-3-Clause
#include "page_pool/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace nearpool {

Result<SharedOptions> SharedOptions::parse(std::string_view text) {
  SharedOptions options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
    if (key == "bulk") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), options.bulk);
      if (error != std::errc{} || end != value.data() + value.size() || options.bulk < 4 ||
          options.bulk > 512) {
        return fail(-EINVAL,
                    fmt::format("PAGE_POOL: bulk '{}' is not a number from 4 to 512", value));
      }
    } else if (key == "numa-map" && !value.empty()) {
      options.numa_map = value;
      std::replace(options.numa_map.begin(), options.numa_map.end(), ';', ',');
    } else if (word == "hardened") {
      options.hardened = true;
    } else if (word == "no-bulk-return") {
      options.bulk = 0;
    } else if (word == "no-foreign-reject") {
      options.refuse_foreign = false;
    } else {
      return fail(-EINVAL, fmt::format("PAGE_POOL: '{}' is not known; allowed are bulk=4..512, "
                                       "no-bulk-return, no-foreign-reject, hardened and "
                                       "numa-map=LCORE:NODE[;LCORE:NODE...]",
                                       word));
    }
  }
  return options;
}

}  // namespace nearpool
