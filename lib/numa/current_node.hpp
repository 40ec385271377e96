// SPDX-License-Identifier: BSD-3-Clause
// The node of the running thread, and the topology that the whole process goes by.
#pragma once

#include <rte_lcore.h>
#include <sched.h>

#include "error.hpp"
#include "numa/topology.hpp"

namespace nearpool::numa {

// The node that the calling thread runs on now; it may be one without memory. Any thread, EAL or
// not; a thread without an lcore id is on the lowest node where threads are placed by lcore.
//
// No system call: since glibc 2.35 sched_getcpu() reads the CPU number that the kernel keeps in the
// thread's restartable-sequences area (rseq), and otherwise asks the vDSO. The answer may be out of
// date as soon as it is given; lcores that float over a set of CPUs of several nodes move on.
inline int current_node(const Topology& topology) {
  return topology.by_lcore() ? topology.mapped_node(rte_lcore_id())
                             : topology.node_of_cpu(sched_getcpu());
}

// What the process goes by: the machine's topology, discovered at the first call, unless
// use_topology() replaced it. Any thread. The reference stays valid until the process ends.
const Topology& system_topology();

// Replaces the process-wide topology. Control thread. -EBUSY: an arena goes by the present one.
Result<void> use_topology(Topology topology);

// While one of these lives, use_topology() is refused. An arena holds one. Control thread.
class TopologyPin {
 public:
  TopologyPin(const TopologyPin&) = delete;
  TopologyPin& operator=(const TopologyPin&) = delete;
  TopologyPin(TopologyPin&& other) noexcept;
  TopologyPin& operator=(TopologyPin&& other) noexcept;
  ~TopologyPin();

  const Topology& topology() const { return *topology_; }

 private:
  friend TopologyPin pin_topology();
  explicit TopologyPin(const Topology* topology) : topology_(topology) {}

  const Topology* topology_;  // nullptr: moved from
};

TopologyPin pin_topology();

}  // namespace nearpool::numa
