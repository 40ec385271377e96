// SPDX-License-Identifier: BSD-3-Clause
// Linked into programs of a ThreadSanitizer build, and only there. The EAL tells the main lcore by
// an atomic that a worker's function has returned. Debian's EAL is built without ThreadSanitizer,
// so that order is invisible to it; these two functions stand before the EAL's own and say it.
#include <dlfcn.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <sanitizer/tsan_interface.h>

namespace {

struct Job {
  lcore_function_t* function;
  void* argument;
};

// Written by the lcore that launches while the worker waits; the EAL's pipe orders it.
Job jobs[RTE_MAX_LCORE];

int run(void* argument) {
  Job* job = static_cast<Job*>(argument);
  const int result = job->function(job->argument);
  __tsan_release(job);  // pairs with the acquire in rte_eal_wait_lcore
  return result;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int rte_eal_remote_launch(lcore_function_t* function, void* argument, unsigned lcore) {
  static auto* const launch = next<decltype(rte_eal_remote_launch)>("rte_eal_remote_launch");
  // A busy worker still uses its job; the EAL refuses to launch there.
  if (lcore >= RTE_MAX_LCORE || rte_eal_get_lcore_state(lcore) != WAIT)
    return launch(function, argument, lcore);
  jobs[lcore] = {function, argument};
  return launch(run, &jobs[lcore], lcore);
}

extern "C" int rte_eal_wait_lcore(unsigned lcore) {
  static auto* const wait = next<decltype(rte_eal_wait_lcore)>("rte_eal_wait_lcore");
  const int result = wait(lcore);
  if (lcore < RTE_MAX_LCORE) __tsan_acquire(&jobs[lcore]);  // pairs with the release in run
  return result;
}
