// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace nearpool::connectx4 {

// Starts a thread that gets none of the signals: they are for the program's own threads. Throws
// std::system_error when there is none to be had.
template <typename Body>
std::thread start_quiet_thread(Body&& body) {
  class AllHeld {
   public:
    AllHeld() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllHeld(const AllHeld&) = delete;
    AllHeld& operator=(const AllHeld&) = delete;

   private:
    sigset_t before_;
  };
  const AllHeld held;  // a new thread has the mask of the one that starts it
  return std::thread(std::forward<Body>(body));
}

}  // namespace nearpool::connectx4
