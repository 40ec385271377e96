// SPDX-License-Identifier: BSD-3-Clause
#include "control/captures.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_pdump.h>
#include <rte_rcu_qsbr.h>
#include <sched.h>

#include <cstdio>

namespace nearpool {
namespace {

std::mutex polling;
rte_rcu_qsbr* workers = nullptr;  // under `polling`

// Until whoever may have been inside a callback has left it.
void wait_until_left() {
  const std::lock_guard guard(polling);
  if (workers == nullptr) return;
  const uint64_t token = rte_rcu_qsbr_start(workers);
  while (rte_rcu_qsbr_check(workers, token, false) == 0)
    sched_yield();
}

// The library's function of that name, which the one below stands before.
template <typename Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int ignore(const rte_mp_msg* /*message*/, const void* /*peer*/) {
  return 0;
}

// With --in-memory, --no-shconf or --no-huge there are none, and the EAL takes no action for them.
bool secondaries_may_come() {
  constexpr char kProbe[] = "nearpmd_probe";
  if (rte_mp_action_register(kProbe, ignore) != 0) return false;
  rte_mp_action_unregister(kProbe);
  return true;
}

}  // namespace

Captures::Captures() {
  if (!secondaries_may_come()) return;
  answers_ = rte_pdump_init() == 0;
  if (answers_) return;
  fmt::print(stderr,
             "nearpmd: warning: captures are not possible (dpdk-dumpcap, dpdk-pdump): {}; give the "
             "EAL more memory with -m or --socket-mem\n",
             rte_strerror(rte_errno));
}

Captures::~Captures() {
  if (answers_) rte_pdump_uninit();
}

void Captures::wait_for(rte_rcu_qsbr* qsbr) {
  const std::lock_guard guard(polling);
  workers = qsbr;
}

std::unique_lock<std::mutex> Captures::control_thread_polls() {
  return std::unique_lock(polling);
}

}  // namespace nearpool

// The pdump library calls these by name, and a program's own functions come first.
extern "C" {

int rte_eth_remove_rx_callback(uint16_t port, uint16_t queue,
                               const struct rte_eth_rxtx_callback* callback) {
  static auto* const remove =
      nearpool::next_function<decltype(rte_eth_remove_rx_callback)>("rte_eth_remove_rx_callback");
  const int result = remove(port, queue, callback);
  nearpool::wait_until_left();
  return result;
}

int rte_eth_remove_tx_callback(uint16_t port, uint16_t queue,
                               const struct rte_eth_rxtx_callback* callback) {
  static auto* const remove =
      nearpool::next_function<decltype(rte_eth_remove_tx_callback)>("rte_eth_remove_tx_callback");
  const int result = remove(port, queue, callback);
  nearpool::wait_until_left();
  return result;
}

}  // extern "C"
