// SPDX-License-Identifier: BSD-3-Clause
// Mapping: addresses, a file behind them, and the order in which the steps are taken.
#include "page_arena/arena_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "numa/node_memory.hpp"
#include "page_arena/arena_memory_hooks.hpp"
#include "page_arena/arena_memory_state.hpp"

namespace nearpool {
namespace {

// IOMMUs of 39 bits are common (virtual ones above all), and in VA mode addresses are IOVAs: so
// the span goes below 512 GiB if there is room, and above 256 GiB, out of the way of the EAL, which
// starts at 4 GiB.
constexpr std::uintptr_t kLowest = std::uintptr_t{256} << 30;
constexpr std::uintptr_t kHighest = std::uintptr_t{512} << 30;
constexpr std::size_t kTries = 32;

std::uintptr_t round_up(std::uintptr_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

void* map_nothing(std::uintptr_t hint, std::size_t bytes) {
  return mmap(reinterpret_cast<void*>(hint), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// Addresses aligned to `alignment`, accessible to nobody; nullptr, and errno, if there are none.
std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) {
  const std::size_t step = round_up(bytes, std::max(alignment, std::size_t{1} << 30));
  std::uintptr_t hint = kLowest;
  for (std::size_t i = 0; i < kTries && hint + bytes <= kHighest; ++i, hint += step) {
    void* address = map_nothing(hint, bytes);
    if (address == reinterpret_cast<void*>(hint)) return static_cast<std::byte*>(address);
    if (address == MAP_FAILED) break;
    munmap(address, bytes);
  }
  // Anywhere: enough to find an aligned part in, and the rest goes back.
  const std::size_t enough = bytes + alignment;
  void* address = map_nothing(0, enough);
  if (address == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t aligned = round_up(start, alignment);
  if (aligned != start) munmap(address, aligned - start);
  munmap(reinterpret_cast<void*>(aligned + bytes), start + enough - (aligned + bytes));
  return reinterpret_cast<std::byte*>(aligned);
}

unsigned memfd_flags(const MemoryPlan& plan) {
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (plan.hugepages) {
    flags |= MFD_HUGETLB;
    flags |= static_cast<unsigned>(__builtin_ctzll(plan.page_bytes)) << MFD_HUGE_SHIFT;
  }
  return flags;
}

// A file above the limit is not refused but answered with SIGXFSZ, which ends the process.
bool above_file_limit(std::size_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         limit.rlim_cur < bytes;
}

}  // namespace

tl::unexpected<Error> system_failure(const std::string& name, int error_number,
                                     const std::string& what, const std::string& todo) {
  return fail(-error_number, fmt::format("arena '{}' {} ({}): {}", name, what,
                                         std::generic_category().message(error_number), todo));
}

Result<void> ArenaMemory::State::reserve() {
  const int error_number = take_step(MemoryStep::kReserve, [&] {
    base = reserve_addresses(plan.bytes, plan.page_bytes);
    return base != nullptr;
  });
  if (error_number != 0) {
    return system_failure(name, error_number,
                          fmt::format("got no {} of addresses", size_text(plan.bytes)),
                          "raise the limit of addresses (ulimit -v), or ask for less");
  }
  std::byte* lo = base;
  for (const PlannedRange& range : plan.ranges) {
    ranges.push_back({range.node, lo, lo + range.bytes});
    lo += range.bytes;
  }
  misplaced.assign(ranges.size(), 0);
  return {};
}

Result<void> ArenaMemory::State::open() {
  int error_number = take_step(MemoryStep::kMemfd, [&] {
    fd = memfd_create(("nearpool-" + name).c_str(), memfd_flags(plan));
    return fd >= 0;
  });
  if (error_number != 0) {
    return system_failure(name, error_number, "got no memory file",
                          "raise the limit of open files (ulimit -n), and if it asks for "
                          "hugepages, check that the kernel has those of this size");
  }
  error_number = take_step(MemoryStep::kTruncate, [&] {
    if (above_file_limit(plan.bytes)) {
      errno = EFBIG;
      return false;
    }
    return ftruncate(fd, static_cast<off_t>(plan.bytes)) == 0;
  });
  if (error_number != 0) {
    return system_failure(name, error_number,
                          fmt::format("got no memory file of {}", size_text(plan.bytes)),
                          "raise the limit of file sizes (ulimit -f), or ask for less");
  }
  // Whoever is handed the descriptor cannot take pages away under us, which would be SIGBUS.
  error_number = take_step(MemoryStep::kSeal, [&] {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  });
  if (error_number != 0) {
    return system_failure(name, error_number, "could not seal its memory file",
                          "a kernel from 4.16 on is needed");
  }
  return {};
}

Result<void> ArenaMemory::State::map() {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const NodeRange& range = ranges[i];
    const std::size_t bytes = plan.ranges[i].bytes;
    const int error_number = take_step(MemoryStep::kMap, [&] {
      return mmap(range.lo, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                  range.lo - base) != MAP_FAILED;
    });
    if (error_number != 0) {
      return system_failure(
          name, error_number,
          fmt::format("could not map {} for node {}", size_text(bytes), range.node),
          plan.hugepages ? "hugepages that look free are promised to other processes: "
                           "reserve more, or ask for less"
                         : "raise the limit of addresses (ulimit -v), or ask for less");
    }
  }
  return {};
}

ArenaMemory::State::~State() {
  give_devices_back();
  if (base != nullptr) munmap(base, plan.bytes);
  if (fd >= 0) close(fd);
}

Result<ArenaMemory> ArenaMemory::map(const MemoryRequest& request, const numa::Topology& topology) {
  Result<MemoryPlan> plan = plan_memory(request, topology);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  if (auto fits = fits_cgroup(*plan, request.name, numa::read_cgroup_available()); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  auto state = std::make_unique<State>(request.name, std::move(*plan));
  State& self = *state;
  const Result<void> mapped = self.reserve()
                                  .and_then([&] { return self.open(); })
                                  .and_then([&] { return self.map(); })
                                  .and_then([&] { return self.bind(topology, request.strict); })
                                  .and_then([&] { return self.populate(topology, request.strict); })
                                  .and_then([&] { return self.verify(topology, request.strict); })
                                  .and_then([&] { return self.find_iovas(); });
  if (!mapped) return tl::unexpected(mapped.error());
  return ArenaMemory(std::move(state));
}

ArenaMemory::ArenaMemory(std::unique_ptr<State> state) : state_(std::move(state)) {
}
ArenaMemory::ArenaMemory(ArenaMemory&& other) noexcept = default;
ArenaMemory& ArenaMemory::operator=(ArenaMemory&& other) noexcept = default;
ArenaMemory::~ArenaMemory() = default;

std::span<const NodeRange> ArenaMemory::ranges() const {
  return state_ ? std::span<const NodeRange>(state_->ranges) : std::span<const NodeRange>();
}

std::byte* ArenaMemory::base() const {
  return state_ ? state_->base : nullptr;
}
std::size_t ArenaMemory::bytes() const {
  return state_ ? state_->plan.bytes : 0;
}
std::size_t ArenaMemory::page_bytes() const {
  return state_ ? state_->plan.page_bytes : 0;
}
int ArenaMemory::fd() const {
  return state_ ? state_->fd : -1;
}

std::size_t ArenaMemory::misplaced(std::size_t range) const {
  return state_ && range < state_->misplaced.size() ? state_->misplaced[range] : 0;
}

std::size_t ArenaMemory::misplaced() const {
  std::size_t pages = 0;
  for (std::size_t i = 0; i < ranges().size(); ++i)
    pages += misplaced(i);
  return pages;
}

}  // namespace nearpool
