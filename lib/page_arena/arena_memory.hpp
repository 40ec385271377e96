// SPDX-License-Identifier: BSD-3-Clause
// The memory of an arena: one span of virtual addresses, cut into one range per node.
//
// The span is backed by one memfd, so that another process can map all of it with one descriptor
// and one call, at the same offsets. It is bound to its nodes before the first touch, populated,
// sealed against shrinking (a page that is there stays: no SIGBUS), and then looked up page by
// page.
//
// Control thread throughout. The ranges themselves may be read by any thread.
#pragma once

#include <rte_common.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "error.hpp"
#include "numa/topology.hpp"

struct rte_device;

namespace nearpool {

struct NodeBytes {
  int node;           // a node of the topology that has memory
  std::size_t bytes;  // above 0; rounded up to whole pages of the backing
};

struct MemoryRequest {
  std::string name;              // of the arena; shows in /proc/PID/maps as memfd:nearpool-NAME
  std::vector<NodeBytes> nodes;  // each node once
  bool hugepages = true;         // false: ordinary pages
  // true: bound to its node, and a page found elsewhere is an error. false: the node is preferred,
  // and pages found elsewhere are counted and warned of.
  bool strict = true;
};

struct NodeRange {
  int node;
  std::byte* lo;
  std::byte* hi;  // one past the last byte
};

class ArenaMemory {
 public:
  // Maps, binds, populates and verifies. Nothing is kept on failure.
  // With hugepages, the smallest hugepage size is taken of which the nodes have enough free.
  // -EINVAL: the request; -ENOMEM: it does not fit (the sentence says what would);
  // -EXDEV: memory lies on the wrong node; -EPERM: the kernel forbids binding to nodes; else what
  // the kernel said.
  static Result<ArenaMemory> map(const MemoryRequest& request, const numa::Topology& topology);

  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;
  ArenaMemory(ArenaMemory&& other) noexcept;
  ArenaMemory& operator=(ArenaMemory&& other) noexcept;
  // Undoes register_with_eal() and the mapping for vfio, then gives the memory back. Devices must
  // not use the memory any more.
  ~ArenaMemory();

  // In the order of the request, adjacent, without gaps: the first starts at base().
  std::span<const NodeRange> ranges() const;
  std::byte* base() const;
  std::size_t bytes() const;
  // Size of the pages behind it: 4096, 2 MiB, 1 GiB ...
  std::size_t page_bytes() const;
  // The memfd, or -1 after a move. Owned by this object.
  int fd() const;
  // Pages found on another node, in total and per range (lenient requests).
  std::size_t misplaced() const;
  std::size_t misplaced(std::size_t range) const;

  // Calls fn once per piece that is contiguous in IOVA, in ascending address order, without gaps.
  // In VA mode that is the whole span. In PA mode it is each physically contiguous run of
  // hugepages; RTE_BAD_IOVA where the physical address is not to be had (no privilege), and for
  // ordinary pages, which the kernel may move at any time.
  void for_each_chunk(
      const std::function<void(std::byte* address, rte_iova_t iova, std::size_t bytes)>& fn) const;

  // Makes the span known to the EAL as external memory, with its IOVAs. After rte_eal_init().
  // -EALREADY: it is known already; else what rte_extmem_register() reports.
  Result<void> register_with_eal();

  // Makes the span reachable for a device whose IOMMU must know it: devices behind vfio,
  // virtio-user on vDPA. All vfio devices share one mapping. Other devices need nothing, and mlx5
  // needs nothing either, as it registers the memory of each mempool itself; that counts as
  // success. After register_with_eal(). -EALREADY: this device was mapped before. -EFAULT: a PCI
  // device, and a piece has no IOVA.
  Result<void> dma_map(rte_device* device);
  // Before the device is removed. -ENOENT: the device was not mapped.
  Result<void> dma_unmap(rte_device* device);

 private:
  struct State;
  explicit ArenaMemory(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;  // empty: moved from
};

}  // namespace nearpool
