// SPDX-License-Identifier: BSD-3-Clause
// All of lib/numa that knows of lcores.
#include "numa/current_node.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace nearpool::numa {
namespace {

static_assert(kMaxLcores == RTE_MAX_LCORE);

// Topologies are kept until the process ends, since other threads may still look at an older one.
// Never destroyed, so that static destructors elsewhere may ask for the node they run on.
struct Process {
  std::mutex mutex;  // guards kept and pins
  std::vector<std::unique_ptr<const Topology>> kept;
  unsigned pins = 0;
  // Published with release after the topology is complete, read with acquire by any thread.
  std::atomic<const Topology*> topology{nullptr};

  const Topology& publish(Topology next) {
    kept.push_back(std::make_unique<const Topology>(std::move(next)));
    topology.store(kept.back().get(), std::memory_order_release);
    return *kept.back();
  }

  // Under the mutex.
  const Topology& present() {
    // Relaxed: the mutex orders all stores.
    if (const Topology* known = topology.load(std::memory_order_relaxed)) return *known;
    Result<Topology> found = Topology::discover();
    // No node with memory we may use is no machine that runs us: go on as without NUMA.
    return publish(found ? std::move(*found) : Topology::one_node());
  }
};

Process& process() {
  static Process& instance = *new Process;
  return instance;
}

}  // namespace

const Topology& system_topology() {
  Process& self = process();
  // Pairs with the release in publish().
  if (const Topology* known = self.topology.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(self.mutex);
  return self.present();
}

Result<void> use_topology(Topology topology) {
  Process& self = process();
  const std::lock_guard lock(self.mutex);
  if (self.pins != 0) {
    return fail(-EBUSY,
                "the NUMA topology cannot be replaced while an arena goes by it: emulate nodes "
                "before the first arena is created");
  }
  self.publish(std::move(topology));
  return {};
}

TopologyPin pin_topology() {
  Process& self = process();
  const std::lock_guard lock(self.mutex);
  ++self.pins;
  return TopologyPin(&self.present());
}

TopologyPin::TopologyPin(TopologyPin&& other) noexcept
    : topology_(std::exchange(other.topology_, nullptr)) {
}

TopologyPin& TopologyPin::operator=(TopologyPin&& other) noexcept {
  // What this one held is unpinned when `other` ends.
  std::swap(topology_, other.topology_);
  return *this;
}

TopologyPin::~TopologyPin() {
  if (topology_ == nullptr) return;
  Process& self = process();
  const std::lock_guard lock(self.mutex);
  --self.pins;
}

int Topology::node_of_lcore(unsigned lcore) const {
  if (by_lcore_) return mapped_node(lcore);
  if (lcore < RTE_MAX_LCORE) {
    const rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &cpus)) return node_of_cpu(cpu);
    }
  }
  return nodes_.front().id;
}

std::size_t Topology::resolve(int node) const {
  const std::size_t index = index_of(node == kAnyNode ? current_node(*this) : node);
  return index == kNoIndex ? lowest_with_memory_ : index;
}

}  // namespace nearpool::numa
