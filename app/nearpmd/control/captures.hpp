// SPDX-License-Identifier: BSD-3-Clause
// What a capture of dpdk-dumpcap or dpdk-pdump needs from us: they attach as secondary processes
// and ask the primary to copy the frames of a port into a ring of theirs, with callbacks that the
// pdump library hangs on our queues.
//
// When a capture ends, the library takes the callbacks off and says so to the secondary, which
// frees ring and mempool at once, though a lcore may still be inside a callback that uses them. So
// taking one off is made to wait (captures.cc) until no lcore can be.
#pragma once

#include <mutex>

struct rte_rcu_qsbr;

namespace nearpool {

// Answers captures while it lives. After the EAL is up, and before the EAL ends. Does nothing where
// the EAL allows no secondary processes.
class Captures {
 public:
  Captures();
  ~Captures();
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // Whose quiescent states say that a callback has been left. Null: nobody polls any more.
  static void wait_for(rte_rcu_qsbr* workers);
  // Held by the control thread while it receives or sends by itself.
  static std::unique_lock<std::mutex> control_thread_polls();

 private:
  bool answers_ = false;
};

}  // namespace nearpool
