// SPDX-License-Identifier: BSD-3-Clause
// libibverbs: protection domains and memory regions.
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <memory>

#include "../device/adapter.hpp"
#include "../device/log.hpp"
#include "../device/memory_region.hpp"
#include "../device/port.hpp"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace nearpool::connectx4;

namespace {

bool can_populate() {
  static const bool can = [] {
    alignas(4096) static uint8_t page[4096];
    return madvise(page, sizeof page, MADV_POPULATE_WRITE) == 0;
  }();
  return can;
}

// A card has the pages pinned, which brings them in and fails where there are none, or where they
// may not be written. 0 or an errno value.
int pin(void* address, size_t length, bool writable) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(address);
  if (start + length < start || start + length > ~uintptr_t{0} - page) return EINVAL;
  const uintptr_t first = start / page * page;
  const uintptr_t end = (start + length + page - 1) / page * page;
  // Before Linux 5.14 nobody can be asked; a bad range then shows when the device uses it.
  if (!can_populate()) return 0;
  const int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  return madvise(reinterpret_cast<void*>(first), end - first, advice) == 0 ? 0 : EFAULT;
}

}  // namespace

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* domain = new ProtectionDomain;
  domain->port = Port::of(context);
  domain->handle.owner = domain;
  domain->handle.verbs.context = context;
  return &domain->handle.verbs;
}

int ibv_dealloc_pd(ibv_pd* verbs) {
  auto* domain = owner_of<ProtectionDomain>(verbs);
  if (domain->users != 0) return EBUSY;
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* verbs, void* address, size_t length, uint64_t iova,
                         unsigned access) {
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_HUGETLB |
                              IBV_ACCESS_RELAXED_ORDERING;
  if (length == 0 || iova + length < iova) {
    errno = EINVAL;
    return nullptr;
  }
  if ((access & ~kKnown) != 0) {
    errno = EOPNOTSUPP;  // atomics, windows, on-demand paging
    return nullptr;
  }
  const bool writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0 && !writable) {
    errno = EINVAL;
    return nullptr;
  }
  const int error = pin(address, length, writable);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  auto* domain = owner_of<ProtectionDomain>(verbs);
  auto region = std::make_unique<Region>();
  region->domain = domain;
  region->start = iova;
  region->end = iova + length;
  region->offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) - iova);
  region->writable = writable;
  Region* added = nullptr;
  {
    ControlLock lock;
    added = domain->port->regions().add(std::move(region));
  }
  if (added == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  ++domain->users;
  added->handle.owner = added;
  ibv_mr& mr = added->handle.verbs;
  mr.context = verbs->context;
  mr.pd = verbs;
  mr.addr = address;
  mr.length = length;
  mr.lkey = added->key;
  mr.rkey = added->key;
  log(LogLevel::kDebug, "%s: region %p + 0x%zx, key 0x%x", domain->port->name(), address, length,
      added->key);
  return &mr;
}

ibv_mr* ibv_reg_mr(ibv_pd* verbs, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(verbs, address, length, reinterpret_cast<uintptr_t>(address),
                          static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* verbs, void* address, size_t length, uint64_t iova, int access) {
  return ibv_reg_mr_iova2(verbs, address, length, iova, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* mr) {
  auto* region = owner_of<Region>(mr);
  auto* domain = owner_of<ProtectionDomain>(mr->pd);
  log(LogLevel::kDebug, "%s: region with key 0x%x gone", domain->port->name(), region->key);
  ControlLock lock;
  domain->port->regions().remove(region);
  --domain->users;
  return 0;
}

}  // extern "C"
