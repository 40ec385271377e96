// SPDX-License-Identifier: BSD-3-Clause
// How devices reach the memory: its IOVAs, the EAL's books, and IOMMU mappings.
#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_pci.h>
#include <rte_vfio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "page_arena/arena_memory_hooks.hpp"
#include "page_arena/arena_memory_state.hpp"

namespace nearpool {
namespace {

// The reason of a failed call of the EAL: rte_errno, where the callee set it, else errno.
int eal_reason() {
  if (rte_errno != 0) return rte_errno;
  return errno != 0 ? errno : EIO;
}

void clear_reasons() {
  rte_errno = 0;
  errno = 0;
}

rte_iova_t next_iova(rte_iova_t iova, std::size_t bytes) {
  return iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : iova + bytes;
}

std::string device_name(const rte_device* device) {
  const char* name = rte_dev_name(device);
  return name != nullptr ? name : "(without a name)";
}

// mlx5 registers the memory of every mempool itself when a port starts; a mapping through
// rte_dev_dma_map() would be a second registration that pins everything again and serves nothing.
bool is_mlx5(const rte_device* device) {
  const rte_driver* driver = rte_dev_driver(device);
  const char* name = driver != nullptr ? rte_driver_name(driver) : nullptr;
  return name != nullptr && std::string_view(name).substr(0, 4) == "mlx5";
}

std::optional<rte_pci_addr> pci_address(const std::string& name) {
  rte_pci_addr address = {};
  if (rte_pci_addr_parse(name.c_str(), &address) != 0) return std::nullopt;
  return address;
}

}  // namespace

bool bound_to_vfio(const std::string& name) {
  const std::optional<rte_pci_addr> address = pci_address(name);
  if (!address) return false;
  std::array<char, PCI_PRI_STR_SIZE> full = {};
  rte_pci_device_name(&*address, full.data(), full.size());
  const char* root = std::getenv("SYSFS_PCI_DEVICES");
  std::error_code error;
  const auto driver = std::filesystem::read_symlink(
      std::filesystem::path(root != nullptr ? root : "/sys/bus/pci/devices") / full.data() /
          "driver",
      error);
  return !error && driver.filename() == "vfio-pci";
}

Result<void> ArenaMemory::State::find_iovas() {
  if (const int error_number = injected_failure(MemoryStep::kIova)) {
    return system_failure(name, error_number, "could not find the IOVAs of its memory",
                          "run with --iova-mode=va");
  }
  if (rte_eal_iova_mode() == RTE_IOVA_VA) {
    chunks = {{base, reinterpret_cast<rte_iova_t>(base), plan.bytes}};
    return {};
  }
  for (std::size_t offset = 0; offset < plan.bytes; offset += plan.page_bytes) {
    std::byte* page = base + offset;
    // The kernel may move an ordinary page to another physical address whenever it likes.
    const rte_iova_t iova = plan.hugepages ? rte_mem_virt2iova(page) : RTE_BAD_IOVA;
    if (!chunks.empty() && next_iova(chunks.back().iova, chunks.back().bytes) == iova) {
      chunks.back().bytes += plan.page_bytes;
    } else {
      chunks.push_back({page, iova, plan.page_bytes});
    }
  }
  return {};
}

Result<void> ArenaMemory::State::register_with_eal() {
  if (registered) {
    return fail(-EALREADY, fmt::format("arena '{}' is known to the EAL already", name));
  }
  std::vector<rte_iova_t> iovas;
  iovas.reserve(plan.bytes / plan.page_bytes);
  for (const IovaChunk& chunk : chunks) {
    for (std::size_t offset = 0; offset < chunk.bytes; offset += plan.page_bytes) {
      iovas.push_back(next_iova(chunk.iova, offset));
    }
  }
  clear_reasons();
  int error_number = injected_failure(MemoryStep::kRegister);
  if (error_number == 0 &&
      rte_extmem_register(base, plan.bytes, iovas.data(), static_cast<unsigned>(iovas.size()),
                          plan.page_bytes) != 0) {
    error_number = eal_reason();
  }
  if (error_number != 0) {
    return system_failure(name, error_number, "could not be made known to the EAL",
                          "the EAL must be up, and it has room for few arenas; destroy one, or "
                          "share arenas between pools");
  }
  registered = true;
  return {};
}

bool ArenaMemory::State::all_have_iovas() const {
  return std::none_of(chunks.begin(), chunks.end(),
                      [](const IovaChunk& chunk) { return chunk.iova == RTE_BAD_IOVA; });
}

bool ArenaMemory::State::any_vfio() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const MappedDevice& mapped) { return mapped.way == DmaWay::kVfio; });
}

Result<DmaWay> ArenaMemory::State::map_chunks(rte_device* device) {
  const bool vfio = bound_to_vfio(device_name(device));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const IovaChunk& chunk = chunks[i];
    clear_reasons();
    int error_number = injected_failure(MemoryStep::kDmaMap);
    if (error_number == 0) {
      const int result = rte_dev_dma_map(device, chunk.address, chunk.iova, chunk.bytes);
      // Buses without IOMMU mappings say ENOTSUP; behind vfio it would be a failure.
      if (result < 0 && rte_errno == ENOTSUP && !vfio) return DmaWay::kNothingNeeded;
      if (result < 0) error_number = eal_reason();
    }
    if (error_number == 0) continue;
    for (std::size_t done = i; done-- > 0;) {
      rte_dev_dma_unmap(device, chunks[done].address, chunks[done].iova, chunks[done].bytes);
    }
    return system_failure(
        name, error_number,
        fmt::format("could not be mapped for device {}, at piece {} of {}", device_name(device),
                    i + 1, chunks.size()),
        "run with --iova-mode=va, so that it is one piece, and check the limit of locked memory "
        "(ulimit -l) and how many bits of address the IOMMU has");
  }
  return vfio ? DmaWay::kVfio : DmaWay::kDriver;
}

Result<void> ArenaMemory::State::dma_map(rte_device* device) {
  if (device == nullptr || !registered) {
    return fail(-EINVAL,
                fmt::format("arena '{}' cannot be mapped for {}: {}", name,
                            device == nullptr ? "no device" : "device " + device_name(device),
                            device == nullptr ? "give one" : "register it with the EAL first"));
  }
  const auto same = [&](const MappedDevice& mapped) { return mapped.device == device; };
  if (std::any_of(devices.begin(), devices.end(), same)) {
    return fail(-EALREADY, fmt::format("arena '{}' is mapped for device {} already", name,
                                       device_name(device)));
  }
  // DPDK would go on: mlx5 leaves such a mempool out and fails later, others write somewhere.
  if ((is_mlx5(device) || pci_address(device_name(device))) && !all_have_iovas()) {
    return fail(-EFAULT,
                fmt::format("arena '{}' cannot be reached by device {}: the EAL uses physical "
                            "addresses as IOVAs, and {}; run with --iova-mode=va{}",
                            name, device_name(device),
                            plan.hugepages ? "may not know those of this memory"
                                           : "those of ordinary pages change",
                            plan.hugepages ? ", or as root" : ", or with hugepages"));
  }
  if (is_mlx5(device)) {
    devices.push_back({device, DmaWay::kNothingNeeded});
    return {};
  }
  // One container serves all vfio devices, and what is mapped in it twice is unmapped at once.
  if (any_vfio() && bound_to_vfio(device_name(device))) {
    devices.push_back({device, DmaWay::kVfio});
    return {};
  }
  const Result<DmaWay> way = map_chunks(device);
  if (!way) return tl::unexpected(way.error());
  devices.push_back({device, *way});
  return {};
}

Result<void> ArenaMemory::State::dma_unmap(rte_device* device) {
  const auto mapped = std::find_if(devices.begin(), devices.end(), [&](const MappedDevice& entry) {
    return entry.device == device;
  });
  if (mapped == devices.end()) {
    return fail(-ENOENT, fmt::format("arena '{}' is not mapped for device {}", name,
                                     device == nullptr ? "(none)" : device_name(device)));
  }
  const DmaWay way = mapped->way;
  devices.erase(mapped);
  if (way == DmaWay::kNothingNeeded || (way == DmaWay::kVfio && any_vfio())) return {};

  // Unmap all there is, even after one failed; the first reason is the one to tell.
  int reason = 0;
  for (const IovaChunk& chunk : chunks) {
    clear_reasons();
    const int result = rte_dev_dma_unmap(device, chunk.address, chunk.iova, chunk.bytes);
    if (result < 0 && reason == 0) reason = eal_reason();
  }
  if (reason != 0) {
    return system_failure(name, reason,
                          fmt::format("could not be unmapped for device {}", device_name(device)),
                          "close its ports first");
  }
  return {};
}

void ArenaMemory::State::give_devices_back() noexcept {
  if (any_vfio()) {
    // By the container and not by a device, since devices may be gone by now.
    for (const IovaChunk& chunk : chunks) {
      rte_vfio_container_dma_unmap(RTE_VFIO_DEFAULT_CONTAINER_FD,
                                   reinterpret_cast<std::uint64_t>(chunk.address), chunk.iova,
                                   chunk.bytes);
    }
  }
  if (registered) rte_extmem_unregister(base, plan.bytes);
}

void ArenaMemory::for_each_chunk(
    const std::function<void(std::byte*, rte_iova_t, std::size_t)>& fn) const {
  if (!state_) return;
  for (const IovaChunk& chunk : state_->chunks)
    fn(chunk.address, chunk.iova, chunk.bytes);
}

Result<void> ArenaMemory::register_with_eal() {
  return state_->register_with_eal();
}
Result<void> ArenaMemory::dma_map(rte_device* device) {
  return state_->dma_map(device);
}
Result<void> ArenaMemory::dma_unmap(rte_device* device) {
  return state_->dma_unmap(device);
}

}  // namespace nearpool
