// SPDX-License-Identifier: BSD-3-Clause
// What is measured against each other: page pools and DPDK's own mempools, with the same element
// size, number of pages and cache.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <string>

#include "error.hpp"
#include "page_pool.h"

namespace nearpool::bench {

inline constexpr unsigned kCacheSize = 512;
inline constexpr uint16_t kDataRoom = 2176;  // RTE_MBUF_DEFAULT_BUF_SIZE

// Lcores of the benchmark, and the nodes that the emulated topology has them on.
inline constexpr unsigned kTaker = 0;
inline constexpr unsigned kReturner = 1;
inline constexpr int kHomeNode = 0;
inline constexpr int kOtherNode = 1;
inline constexpr char kNodeMap[] = "0:0,1:1";

// The calls of the C API that are used here: those of the plugin this program links to, or those of
// another build of it, loaded beside.
struct PoolApi {
  const char* name;  // of the contender
  decltype(&page_pool_error) error;
  decltype(&page_pool_emulate_nodes) emulate_nodes;
  decltype(&page_arena_create) arena_create;
  decltype(&page_arena_destroy) arena_destroy;
  decltype(&page_pool_create) create;
  decltype(&page_pool_destroy) destroy;
  decltype(&page_pool_service) service;
  decltype(&page_pool_mempool) mempool;
  decltype(&page_pool_nid_changed) nid_changed;
  decltype(&page_pool_update_nid) update_nid;
  decltype(&page_pool_release) release;
  decltype(&page_pool_flush_returns) flush_returns;
  decltype(&page_pool_get_stats) get_stats;

  static PoolApi linked();
  // Its symbols stay its own (RTLD_LOCAL). It is never unloaded: its mempool ops are registered.
  static Result<PoolApi> load(const char* library, const char* name);
};

// What a loop needs of a contender. `pool` is null for a stock mempool, which has no poll cycle.
struct Hot {
  rte_mempool* mempool;
  page_pool* pool;
  decltype(&page_pool_nid_changed) nid_changed;
  decltype(&page_pool_flush_returns) flush_returns;
};

class Contender {
 public:
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  const std::string& name() const { return name_; }
  // "relaxed" or "strict", or "" for a mempool without modes.
  virtual const char* mode() const { return ""; }
  virtual Hot hot() const = 0;
  // Whether it still is what it was made to be, and that all came back that was taken.
  virtual Result<void> verify() const { return {}; }
  // On the taking lcore, after the last take.
  virtual Result<void> retire() { return {}; }

 protected:
  explicit Contender(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// A mempool of DPDK's, by the name of its ops.
Result<std::unique_ptr<Contender>> make_stock(const char* ops, uint32_t pages);
// Called by the lcore that will take. A strict pool owns one page of another node, which stays out.
Result<std::unique_ptr<Contender>> make_page_pool(const PoolApi& api, uint32_t pages, bool strict);

}  // namespace nearpool::bench
