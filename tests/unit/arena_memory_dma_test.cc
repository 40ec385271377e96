// SPDX-License-Identifier: BSD-3-Clause
// How devices would reach an arena's memory: IOVAs in the mode the EAL runs in (meson runs this in
// PA and in VA mode), the EAL's books, and devices that need no mapping.
#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_memory.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arena_memory_fixture.hpp"
#include "numa/topology.hpp"
#include "page_arena/arena_memory.hpp"
#include "page_arena/arena_memory_state.hpp"
#include "page_arena/arena_memory_testing.hpp"

namespace nearpool {
namespace {

using test::kHugepage;

ArenaMemory memory_of(std::size_t page_bytes, std::size_t pages) {
  Result<ArenaMemory> memory =
      ArenaMemory::map({.name = "dma",
                        .nodes = {{0, pages * page_bytes}, {8, page_bytes}},
                        .hugepages = page_bytes == kHugepage},
                       test::two_nodes());
  if (!memory) throw std::runtime_error(memory.error().message);
  return std::move(*memory);
}

std::vector<IovaChunk> chunks_of(const ArenaMemory& memory) {
  std::vector<IovaChunk> chunks;
  memory.for_each_chunk([&](std::byte* address, rte_iova_t iova, std::size_t bytes) {
    chunks.push_back({address, iova, bytes});
  });
  return chunks;
}

class ArenaDma : public testing::Test {
 protected:
  void TearDown() override { arena_memory_fail_at(MemoryStep::kNone); }
};

TEST_F(ArenaDma, ChunksCoverTheSpanWithoutGaps) {
  NEARPOOL_NEED_HUGEPAGES(12U);
  const ArenaMemory memory = memory_of(kHugepage, 9);
  std::byte* next = memory.base();
  for (const IovaChunk& chunk : chunks_of(memory)) {
    EXPECT_EQ(chunk.address, next);
    EXPECT_GT(chunk.bytes, 0U);
    next += chunk.bytes;
  }
  EXPECT_EQ(next, memory.base() + memory.bytes());
}

TEST_F(ArenaDma, ChunksHaveTheIovasOfTheirPages) {
  NEARPOOL_NEED_HUGEPAGES(12U);
  const ArenaMemory memory = memory_of(kHugepage, 9);
  for (const IovaChunk& chunk : chunks_of(memory)) {
    ASSERT_NE(chunk.iova, RTE_BAD_IOVA);
    for (std::size_t offset = 0; offset < chunk.bytes; offset += kHugepage) {
      EXPECT_EQ(chunk.iova + offset, rte_mem_virt2iova(chunk.address + offset));
      // In the middle of a hugepage too: that is what a buffer is.
      EXPECT_EQ(chunk.iova + offset + 4096 * 77,
                rte_mem_virt2iova(chunk.address + offset + 4096 * 77));
    }
  }
}

TEST_F(ArenaDma, ChunksAreMaximal) {
  NEARPOOL_NEED_HUGEPAGES(12U);
  const auto chunks = chunks_of(memory_of(kHugepage, 9));
  if (rte_eal_iova_mode() == RTE_IOVA_VA) {
    ASSERT_EQ(chunks.size(), 1U);
    EXPECT_EQ(chunks[0].iova, reinterpret_cast<rte_iova_t>(chunks[0].address));
  }
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    EXPECT_NE(chunks[i - 1].iova + chunks[i - 1].bytes, chunks[i].iova);
  }
}

// The kernel may move ordinary pages, so their physical addresses are nothing to hand a device.
TEST_F(ArenaDma, OrdinaryPagesHaveNoPhysicalAddress) {
  const auto chunks = chunks_of(memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3));
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].iova, rte_eal_iova_mode() == RTE_IOVA_VA
                                ? reinterpret_cast<rte_iova_t>(chunks[0].address)
                                : RTE_BAD_IOVA);
}

TEST_F(ArenaDma, AddressesSuitSmallIommus) {
  const ArenaMemory memory = memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3);
  // AddressSanitizer has these addresses; there the span has to go elsewhere, and does.
  if (!test::kSanitized) {
    EXPECT_LE(reinterpret_cast<std::uintptr_t>(memory.base() + memory.bytes()),
              std::uintptr_t{1} << 39);
  }
}

TEST_F(ArenaDma, RegisteredMemoryIsKnownToTheEal) {
  for (const bool hugepages : {true, false}) {
    if (hugepages && !test::have_hugepages()) continue;
    const std::size_t page =
        hugepages ? kHugepage : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::byte* base = nullptr;
    {
      ArenaMemory memory = memory_of(page, 3);
      base = memory.base();
      EXPECT_EQ(rte_mem_virt2memseg_list(base), nullptr);
      const auto registered = memory.register_with_eal();
      ASSERT_TRUE(registered) << registered.error().message;

      const rte_memseg_list* list = rte_mem_virt2memseg_list(base);
      ASSERT_NE(list, nullptr);
      EXPECT_EQ(list->page_sz, page);
      EXPECT_EQ(list->len, memory.bytes());
      EXPECT_NE(list->external, 0U);
      memory.for_each_chunk([&](std::byte* address, rte_iova_t iova, std::size_t bytes) {
        for (std::size_t offset = 0; offset < bytes; offset += page) {
          const rte_memseg* segment = rte_mem_virt2memseg(address + offset, list);
          ASSERT_NE(segment, nullptr);
          EXPECT_EQ(segment->iova, iova == RTE_BAD_IOVA ? iova : iova + offset);
        }
      });

      const auto again = memory.register_with_eal();
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().code, -EALREADY);
    }
    EXPECT_EQ(rte_mem_virt2memseg_list(base), nullptr);
  }
}

TEST_F(ArenaDma, FailedRegistrationCanBeTriedAgain) {
  ArenaMemory memory = memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3);
  arena_memory_fail_at(MemoryStep::kRegister, 1, ENOSPC);
  const auto failed = memory.register_with_eal();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, -ENOSPC);
  EXPECT_EQ(rte_mem_virt2memseg_list(memory.base()), nullptr);
  EXPECT_TRUE(memory.register_with_eal());
}

// More arenas than the EAL has lists for: an error each time, and all of them usable again later.
TEST_F(ArenaDma, EalOutOfListsIsAnError) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (int round = 0; round < 2; ++round) {
    std::vector<ArenaMemory> arenas;
    Result<void> registered;
    while (registered && arenas.size() < 2 * RTE_MAX_MEMSEG_LISTS) {
      arenas.push_back(memory_of(page, 1));
      registered = arenas.back().register_with_eal();
    }
    ASSERT_FALSE(registered);
    EXPECT_EQ(registered.error().code, -ENOSPC);
  }
}

// ---- devices ------------------------------------------------------------------------------------

// A virtual device, which needs no mapping.
class VirtualDevice {
 public:
  explicit VirtualDevice(const char* name) : name_(name) {
    if (rte_eal_hotplug_add("vdev", name, "") != 0) throw std::runtime_error(name_);
  }
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;
  ~VirtualDevice() { rte_eal_hotplug_remove("vdev", name_.c_str()); }

  rte_device* device() const {
    std::uint16_t port = 0;
    rte_eth_dev_info info = {};
    if (rte_eth_dev_get_port_by_name(name_.c_str(), &port) != 0 ||
        rte_eth_dev_info_get(port, &info) != 0) {
      throw std::runtime_error(name_);
    }
    return info.device;
  }

 private:
  std::string name_;
};

TEST_F(ArenaDma, DevicesWithoutIommuNeedNothing) {
  const VirtualDevice first("net_null_dma0");
  const VirtualDevice second("net_null_dma1");
  ArenaMemory memory = memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3);
  ASSERT_TRUE(memory.register_with_eal());

  EXPECT_TRUE(memory.dma_map(first.device()));
  EXPECT_TRUE(memory.dma_map(second.device()));
  const auto twice = memory.dma_map(first.device());
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, -EALREADY);
  EXPECT_EQ(twice.error().message, "arena 'dma' is mapped for device net_null_dma0 already");

  EXPECT_TRUE(memory.dma_unmap(first.device()));
  const auto unknown = memory.dma_unmap(first.device());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, -ENOENT);
  EXPECT_TRUE(memory.dma_unmap(second.device()));
  EXPECT_TRUE(memory.dma_map(first.device())) << "after an unmapping it can be mapped again";
}

TEST_F(ArenaDma, MappingNeedsADeviceAndRegistration) {
  const VirtualDevice null("net_null_dma0");
  ArenaMemory memory = memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3);
  const auto unregistered = memory.dma_map(null.device());
  ASSERT_FALSE(unregistered);
  EXPECT_EQ(unregistered.error().code, -EINVAL);
  EXPECT_EQ(
      unregistered.error().message,
      "arena 'dma' cannot be mapped for device net_null_dma0: register it with the EAL first");
  ASSERT_TRUE(memory.register_with_eal());
  const auto nothing = memory.dma_map(nullptr);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, -EINVAL);
  EXPECT_EQ(memory.dma_unmap(nullptr).error().code, -ENOENT);
}

TEST_F(ArenaDma, FailedMappingLeavesTheDeviceUnmapped) {
  const VirtualDevice null("net_null_dma0");
  ArenaMemory memory = memory_of(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 3);
  ASSERT_TRUE(memory.register_with_eal());
  arena_memory_fail_at(MemoryStep::kDmaMap, 1, ENOMEM);
  const auto failed = memory.dma_map(null.device());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, -ENOMEM);
  EXPECT_NE(failed.error().message.find("for device net_null_dma0, at piece 1 of 1"),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(memory.dma_unmap(null.device()).error().code, -ENOENT);
  EXPECT_TRUE(memory.dma_map(null.device()));
}

TEST(BoundToVfio, FollowsTheDriverLink) {
  std::string root = (std::filesystem::temp_directory_path() / "nearpool-pci-XXXXXX").string();
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  const auto bind = [&](const char* address, const char* driver) {
    std::filesystem::create_directories(root + "/" + address);
    std::filesystem::create_directory_symlink(std::string("/drivers/") + driver,
                                              root + "/" + address + "/driver");
  };
  bind("0000:81:00.0", "vfio-pci");
  bind("0001:81:00.1", "vfio-pci");
  bind("0000:82:00.0", "mlx5_core");
  std::filesystem::create_directories(root + "/0000:83:00.0");
  ASSERT_EQ(setenv("SYSFS_PCI_DEVICES", root.c_str(), 1), 0);

  EXPECT_TRUE(bound_to_vfio("0000:81:00.0"));
  EXPECT_TRUE(bound_to_vfio("81:00.0")) << "as given with -a, without the domain";
  EXPECT_TRUE(bound_to_vfio("0001:81:00.1"));
  EXPECT_FALSE(bound_to_vfio("0000:82:00.0"));
  EXPECT_FALSE(bound_to_vfio("0000:83:00.0"));
  EXPECT_FALSE(bound_to_vfio("0000:84:00.0"));
  EXPECT_FALSE(bound_to_vfio("net_null0"));
  EXPECT_FALSE(bound_to_vfio(""));

  ASSERT_EQ(unsetenv("SYSFS_PCI_DEVICES"), 0);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace nearpool
