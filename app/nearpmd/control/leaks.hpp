// SPDX-License-Identifier: BSD-3-Clause
// --leak-report: pages that are out for too long.
#pragma once

#include <cstdio>

#include "control/engine.hpp"

namespace nearpool {

// For each queue: how many pages are out for more than --leak-report seconds, which lcores they
// were last handed to, and the oldest of them. A sentence if pages are not watched.
Status print_leaks(std::FILE* out, const Engine& engine);

}  // namespace nearpool
