// SPDX-License-Identifier: BSD-3-Clause
#include "allocation_failure.hpp"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "page_arena/page_arena.hpp"

namespace nearpool::test {
namespace {

struct Injector {
  Failing how = Failing::kNone;
  unsigned k = 0;
  uint32_t sequence = 1;
  FailureCount count;

  void set(Failing new_how, unsigned new_k) { *this = {new_how, new_k, 1, {}}; }

  // Counts a call and says whether it shall fail.
  bool fails() {
    const unsigned call = ++count.calls;
    sequence = sequence * 1664525u + 1013904223u;
    const bool now = (how == Failing::kOnce && call == k) || (how == Failing::kFrom && call >= k) ||
                     (how == Failing::kEvery && call % k == 0) ||
                     (how == Failing::kPercent && (sequence >> 16) % 100 < k);
    count.failed += now;
    return now;
  }
};

Injector creation;
Injector takes;

}  // namespace

void fail_creation(Failing how, unsigned k) {
  creation.set(how, k);
}
void fail_takes(Failing how, unsigned k) {
  takes.set(how, k);
}
FailureCount creation_calls() {
  return creation.count;
}
FailureCount take_calls() {
  return takes.count;
}

// A member function's wrapper takes the object as its first argument, as the ABI has it.
PageArena::Taken real_take(
    PageArena* arena, uint32_t node, void** pages, uint32_t n,
    PageArena::TakeLimits limits) asm("__real__ZN8nearpool9PageArena4takeEjPPvjNS0_10TakeLimitsE");
PageArena::Taken wrap_take(
    PageArena* arena, uint32_t node, void** pages, uint32_t n,
    PageArena::TakeLimits limits) asm("__wrap__ZN8nearpool9PageArena4takeEjPPvjNS0_10TakeLimitsE");
PageArena::Taken wrap_take(PageArena* arena, uint32_t node, void** pages, uint32_t n,
                           PageArena::TakeLimits limits) {
  if (takes.fails()) return {};
  return real_take(arena, node, pages, n, limits);
}

}  // namespace nearpool::test

extern "C" {

using nearpool::test::creation;

void* __real_rte_malloc(const char* type, size_t size, unsigned align);
void* __real_rte_zmalloc(const char* type, size_t size, unsigned align);
void* __real_rte_zmalloc_socket(const char* type, size_t size, unsigned align, int socket);
void* __real_rte_realloc(void* memory, size_t size, unsigned align);
rte_mempool* __real_rte_mempool_create_empty(const char* name, unsigned n, unsigned size,
                                             unsigned cache, unsigned priv, int socket,
                                             unsigned flags);
int __real_rte_mempool_set_ops_byname(rte_mempool* mempool, const char* name, void* config);
int __real_rte_mempool_populate_iova(rte_mempool* mempool, char* address, rte_iova_t iova,
                                     size_t bytes, rte_mempool_memchunk_free_cb_t* free_cb,
                                     void* opaque);

void* __wrap_rte_malloc(const char* type, size_t size, unsigned align) {
  return creation.fails() ? nullptr : __real_rte_malloc(type, size, align);
}

void* __wrap_rte_zmalloc(const char* type, size_t size, unsigned align) {
  return creation.fails() ? nullptr : __real_rte_zmalloc(type, size, align);
}

void* __wrap_rte_zmalloc_socket(const char* type, size_t size, unsigned align, int socket) {
  return creation.fails() ? nullptr : __real_rte_zmalloc_socket(type, size, align, socket);
}

void* __wrap_rte_realloc(void* memory, size_t size, unsigned align) {
  return creation.fails() ? nullptr : __real_rte_realloc(memory, size, align);
}

rte_mempool* __wrap_rte_mempool_create_empty(const char* name, unsigned n, unsigned size,
                                             unsigned cache, unsigned priv, int socket,
                                             unsigned flags) {
  if (creation.fails()) {
    rte_errno = ENOMEM;
    return nullptr;
  }
  return __real_rte_mempool_create_empty(name, n, size, cache, priv, socket, flags);
}

int __wrap_rte_mempool_set_ops_byname(rte_mempool* mempool, const char* name, void* config) {
  return creation.fails() ? -EINVAL : __real_rte_mempool_set_ops_byname(mempool, name, config);
}

int __wrap_rte_mempool_populate_iova(rte_mempool* mempool, char* address, rte_iova_t iova,
                                     size_t bytes, rte_mempool_memchunk_free_cb_t* free_cb,
                                     void* opaque) {
  return creation.fails()
             ? -ENOMEM
             : __real_rte_mempool_populate_iova(mempool, address, iova, bytes, free_cb, opaque);
}

}  // extern "C"
