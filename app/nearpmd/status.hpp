// SPDX-License-Identifier: BSD-3-Clause
// A failure on the control path is a value: one sentence that says what was given, what is allowed
// or there, and what to do.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace nearpool {

using Status = tl::expected<void, std::string>;
template <class T>
using Result = tl::expected<T, std::string>;

template <class... Arguments>
tl::unexpected<std::string> failure(fmt::format_string<Arguments...> format,
                                    Arguments&&... arguments) {
  return tl::unexpected<std::string>(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// "1,2,5", for such sentences.
template <class Range>
std::string list_of(const Range& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ",";
    text += std::to_string(value);
  }
  return text;
}

}  // namespace nearpool
