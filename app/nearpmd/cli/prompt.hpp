// SPDX-License-Identifier: BSD-3-Clause
// The prompt: on a terminal with completion and history, from a pipe, from a file.
#pragma once

#include "cli/options.hpp"
#include "control/engine.hpp"

namespace nearpool {

// Runs --cmdline-file, then, with -i, what comes from the standard input until `quit`, its end, or
// a signal; without -i forwards until the input ends.
// @return the first error of a file or pipe: what a user typed at a terminal and was told is none.
Status run_prompt(Engine& engine, const ParsedOptions& parsed);

}  // namespace nearpool
