// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace nearpool::connectx4 {

struct ChildResult {
  int status = 0;  // as wait() gives it
  std::string error;
  bool started = false;
};

// Runs the command with these variables in its environment, and waits. Signals that are sent to the
// launcher go on to it. It is killed should the launcher be. Where one that ends a program has come
// since hold_signals(), the command is not run, and the status is that of a program it ended.
ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment);

// Signals that run_child() passes on are held back from here on, so that none ends the launcher
// before it has cleaned up.
void hold_signals();

// Ends this process as the child ended: with its exit status, or by its signal.
[[noreturn]] void end_like(int status);

}  // namespace nearpool::connectx4
