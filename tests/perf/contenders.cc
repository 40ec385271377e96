// SPDX-License-Identifier: BSD-3-Clause
#include "contenders.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <cerrno>

namespace nearpool::bench {

namespace {

std::string unique_name(const std::string& stem) {
  static unsigned made = 0;
  return fmt::format("{}_{}", stem.substr(0, 16), made++);
}

class Stock : public Contender {
 public:
  Stock(const char* ops, rte_mempool* mempool) : Contender(ops), mempool_(mempool) {}
  ~Stock() override { rte_mempool_free(mempool_); }
  Hot hot() const override { return {mempool_, nullptr, nullptr, nullptr}; }

 private:
  rte_mempool* mempool_;
};

class PagePool : public Contender {
 public:
  PagePool(const PoolApi& api, page_arena* arena, bool strict)
      : Contender(api.name), api_(api), arena_(arena), strict_(strict) {}
  ~PagePool() override {
    if (pool_ != nullptr) api_.destroy(pool_);
    api_.arena_destroy(arena_);
  }

  const char* mode() const override { return strict_ ? "strict" : "relaxed"; }
  Hot hot() const override {
    return {api_.mempool(pool_), pool_, api_.nid_changed, api_.flush_returns};
  }

  Result<void> start(uint32_t pages);
  Result<void> verify() const override;
  Result<void> retire() override;

 private:
  Result<void> failed(int code, const char* what) const {
    return fail(code, fmt::format("{}: {}: {}", name(), what, api_.error()));
  }
  Result<void> take_foreign_page();

  PoolApi api_;
  page_arena* arena_;
  page_pool* pool_ = nullptr;
  void* foreign_ = nullptr;
  bool strict_;
};

Result<void> PagePool::start(uint32_t pages) {
  const std::string label = unique_name(name());
  page_pool_params params{};
  params.name = label.c_str();
  params.arena = arena_;
  params.node = kHomeNode;
  params.quota = pages;
  params.cache_size = kCacheSize;
  if (const int code = api_.create(&params, &pool_); code != 0) return failed(code, "no pool");
  if (strict_) {
    if (auto taken = take_foreign_page(); !taken) return taken;
  } else {
    api_.nid_changed(pool_, kHomeNode);
  }
  return verify();
}

// Strict as a pool becomes it: its lcore has moved, and a page of the node before is still out.
Result<void> PagePool::take_foreign_page() {
  api_.update_nid(pool_, kOtherNode);
  if (rte_mempool_get(api_.mempool(pool_), &foreign_) != 0) {
    return fail(-ENOBUFS, fmt::format("{}: no page of another node", name()));
  }
  api_.update_nid(pool_, kHomeNode);
  // Pages of the other node that came with it leave a piece per poll.
  page_pool_stats stats;
  for (unsigned polls = 0; polls < 1000; ++polls) {
    api_.nid_changed(pool_, kHomeNode);
    api_.get_stats(pool_, &stats);
    if (stats.owned_foreign == 1) return {};
  }
  return fail(-EIO,
              fmt::format("{}: still owns {} pages of another node", name(), stats.owned_foreign));
}

Result<void> PagePool::verify() const {
  page_pool_stats stats;
  api_.get_stats(pool_, &stats);
  const uint32_t out = foreign_ != nullptr ? 1 : 0;
  if (stats.strict != strict_ || stats.owned_foreign != out || stats.inflight != out) {
    return fail(-EIO, fmt::format("{} {}: measured a pool that is {}, owns {} foreign pages, and "
                                  "has {} pages out",
                                  name(), mode(), stats.strict ? "strict" : "relaxed",
                                  stats.owned_foreign, stats.inflight));
  }
  return {};
}

Result<void> PagePool::retire() {
  if (auto good = verify(); !good) return good;
  if (foreign_ != nullptr) rte_mempool_put(api_.mempool(pool_), foreign_);
  foreign_ = nullptr;
  api_.release(pool_);
  if (api_.destroy(pool_) == -EINPROGRESS) {
    const uint64_t deadline = rte_get_tsc_cycles() + 5 * rte_get_tsc_hz();
    while (api_.service() != 0) {
      if (rte_get_tsc_cycles() > deadline) {
        pool_ = nullptr;
        return fail(-EBUSY, fmt::format("{}: pages did not come home", name()));
      }
    }
  }
  pool_ = nullptr;
  return {};
}

}  // namespace

PoolApi PoolApi::linked() {
  return {"page_pool",
          page_pool_error,
          page_pool_emulate_nodes,
          page_arena_create,
          page_arena_destroy,
          page_pool_create,
          page_pool_destroy,
          page_pool_service,
          page_pool_mempool,
          page_pool_nid_changed,
          page_pool_update_nid,
          page_pool_release,
          page_pool_flush_returns,
          page_pool_get_stats};
}

Result<PoolApi> PoolApi::load(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(-ENOENT, fmt::format("{}: {}", name, dlerror()));
  PoolApi api{};
  api.name = name;
  const char* missing = nullptr;
  const auto find = [&](auto& call, const char* symbol) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(handle, symbol));
    if (call == nullptr) missing = symbol;
  };
  find(api.error, "page_pool_error");
  find(api.emulate_nodes, "page_pool_emulate_nodes");
  find(api.arena_create, "page_arena_create");
  find(api.arena_destroy, "page_arena_destroy");
  find(api.create, "page_pool_create");
  find(api.destroy, "page_pool_destroy");
  find(api.service, "page_pool_service");
  find(api.mempool, "page_pool_mempool");
  find(api.nid_changed, "page_pool_nid_changed");
  find(api.update_nid, "page_pool_update_nid");
  find(api.release, "page_pool_release");
  find(api.flush_returns, "page_pool_flush_returns");
  find(api.get_stats, "page_pool_get_stats");
  if (missing != nullptr) return fail(-ENOENT, fmt::format("{} has no {}", library, missing));
  return api;
}

Result<std::unique_ptr<Contender>> make_stock(const char* ops, uint32_t pages) {
  rte_mempool* mempool = rte_pktmbuf_pool_create_by_ops(unique_name(ops).c_str(), pages, kCacheSize,
                                                        0, kDataRoom, SOCKET_ID_ANY, ops);
  if (mempool == nullptr) {
    return fail(-rte_errno,
                fmt::format("no mempool {} of {} pages: {}", ops, pages, rte_strerror(rte_errno)));
  }
  return std::make_unique<Stock>(ops, mempool);
}

Result<std::unique_ptr<Contender>> make_page_pool(const PoolApi& api, uint32_t pages, bool strict) {
  const page_arena_node nodes[] = {{kHomeNode, pages}, {kOtherNode, 1}};
  const std::string label = unique_name("arena");
  page_arena_params params{};
  params.name = label.c_str();
  params.data_room = kDataRoom;
  params.nodes = nodes;
  params.nb_nodes = strict ? 2 : 1;
  params.flags = rte_eal_has_hugepages() != 0 ? 0 : PAGE_ARENA_F_NO_HUGE;
  page_arena* arena = nullptr;
  if (const int code = api.arena_create(&params, &arena); code != 0) {
    return fail(code, fmt::format("{}: {}", api.name, api.error()));
  }
  auto pool = std::make_unique<PagePool>(api, arena, strict);
  if (auto started = pool->start(pages); !started) return tl::unexpected(started.error());
  return pool;
}

}  // namespace nearpool::bench
