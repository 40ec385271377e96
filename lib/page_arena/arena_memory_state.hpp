// SPDX-License-Identifier: BSD-3-Clause
// Internal to ArenaMemory: what it holds, shared by the files it is made of.
#pragma once

#include <rte_common.h>

#include <cstddef>
#include <string>
#include <vector>

#include "error.hpp"
#include "numa/topology.hpp"
#include "page_arena/arena_memory.hpp"
#include "page_arena/memory_plan.hpp"

namespace nearpool {

struct IovaChunk {
  std::byte* address;
  rte_iova_t iova;
  std::size_t bytes;
};

// How a device reaches the memory.
enum class DmaWay {
  kNothingNeeded,
  kVfio,    // through the one container that all vfio devices share
  kDriver,  // the driver has a mapping of its own
};

struct MappedDevice {
  const rte_device* device;
  DmaWay way;
};

struct ArenaMemory::State {
  State(std::string arena_name, MemoryPlan memory_plan)
      : name(std::move(arena_name)), plan(std::move(memory_plan)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Gives back whatever there is, in the reverse order; a state may be half made.
  ~State();

  // The steps of map(), in their order.
  Result<void> reserve();
  Result<void> open();
  Result<void> map();
  Result<void> bind(const numa::Topology& topology, bool strict);
  Result<void> populate(const numa::Topology& topology, bool strict);
  Result<void> verify(const numa::Topology& topology, bool strict);
  Result<void> find_iovas();

  Result<void> register_with_eal();
  Result<void> dma_map(rte_device* device);
  Result<void> dma_unmap(rte_device* device);
  void give_devices_back() noexcept;  // unregisters and unmaps, at the end

  std::string name;
  MemoryPlan plan;
  std::byte* base = nullptr;
  int fd = -1;
  std::vector<NodeRange> ranges;
  std::vector<std::size_t> misplaced;  // pages, as ranges
  std::vector<IovaChunk> chunks;
  std::vector<MappedDevice> devices;
  bool registered = false;

 private:
  Result<DmaWay> map_chunks(rte_device* device);
  bool all_have_iovas() const;
  bool any_vfio() const;
};

// "arena 'NAME' WHAT (reason of the errno): WHAT TO DO".
tl::unexpected<Error> system_failure(const std::string& name, int error_number,
                                     const std::string& what, const std::string& todo);

// Whether the kernel's driver of a PCI device is vfio-pci, as the EAL would find it: below
// SYSFS_PCI_DEVICES if that is set. false for names that are no PCI address.
bool bound_to_vfio(const std::string& device_name);

}  // namespace nearpool
