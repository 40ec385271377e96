// SPDX-License-Identifier: BSD-3-Clause
// Errors of the control path are values: a negative errno and one sentence for the user.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace nearpool {

struct Error {
  int code;             // negative errno
  std::string message;  // what was asked, what there is, what to do
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(int code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace nearpool
