// SPDX-License-Identifier: BSD-3-Clause
#include "control/signals.hpp"

#include <signal.h>

#include <atomic>

namespace nearpool {
namespace {

// A flag for readers that look now and then: it publishes nothing but itself.
std::atomic<bool> requested{false};

void on_signal(int) {
  requested.store(true, std::memory_order_relaxed);
  // A second one finds the default action: a clean end that hangs can still be ended.
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART: a prompt that waits for a key returns and sees the flag.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // No other signal ends the program: not a reader of its output that goes away, not a terminal,
  // not one that is meant for something else.
  // Not the real-time ones: net_tap looks for one that nobody has set to anything.
  for (const int other : {SIGPIPE, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
                          SIGIO, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGPWR}) {
    signal(other, SIG_IGN);
  }
}

bool stop_requested() {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace nearpool
