// SPDX-License-Identifier: BSD-3-Clause
#include "poll_loop.hpp"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <functional>

namespace nearpool::model {
namespace {

int call(void* job) {
  (*static_cast<std::function<void()>*>(job))();
  return 0;
}

void on_lcore(unsigned lcore, std::function<void()> job) {
  rte_eal_remote_launch(call, &job, lcore);
  rte_eal_wait_lcore(lcore);
}

}  // namespace

PollLoop::PollLoop(page_arena* arena, const Costs& costs, const LoopSettings& settings)
    : arena_(arena), costs_(costs), settings_(settings) {
  page_pool_params params{};
  params.name = "model";
  params.arena = arena;
  params.node = kNicNode;
  params.quota = 2 * (settings.ring + settings.sent) + 1024;
  params.cache_size = 512;
  params.flags = settings.pool_flags;
  if (page_pool_create(&params, &pool_) != 0) return;
  std::vector<rte_mbuf*> buffers(settings.ring);
  failed_ = page_pool_alloc_bulk(pool_, buffers.data(), settings.ring) != 0;
  posted_.assign(buffers.begin(), buffers.end());
}

PollLoop::~PollLoop() {
  if (pool_ == nullptr) return;
  for (const unsigned lcore : {kNearLcore, kFarLcore})
    on_lcore(lcore, [this] { page_pool_release(pool_); });
  for (auto* held : {&posted_, &sending_}) {
    for (rte_mbuf* page : *held)
      page_pool_put_bulk(pool_, &page, 1);
  }
  page_pool_flush_returns(pool_);
  page_pool_destroy(pool_);
  while (page_pool_service() != 0)
    rte_pause();
}

void PollLoop::poll(unsigned node, Stretch& stretch) {
  std::vector<rte_mbuf*> burst(settings_.burst);
  page_pool_nid_changed(pool_, static_cast<int>(node));
  for (rte_mbuf*& page : burst) {
    page = posted_.front();
    posted_.pop_front();
    const bool far_page = page_arena_node_of(arena_, page) != static_cast<int>(node);
    stretch.far_pages += far_page ? 1 : 0;
    stretch.nanoseconds += costs_.frame(node != kNicNode, far_page);
  }
  stretch.frames += settings_.burst;
  // In the order of a driver: sent frames come back, then receive buffers are posted.
  sending_.insert(sending_.end(), burst.begin(), burst.end());
  while (sending_.size() > settings_.sent) {
    rte_mempool_put(page_pool_mempool(pool_), sending_.front());
    sending_.pop_front();
  }
  if (rte_mempool_get_bulk(page_pool_mempool(pool_), reinterpret_cast<void**>(burst.data()),
                           settings_.burst) != 0) {
    failed_ = true;
    return;
  }
  posted_.insert(posted_.end(), burst.begin(), burst.end());
}

Stretch PollLoop::run(unsigned lcore, uint64_t frames) {
  Stretch stretch;
  if (lcore_ != 0 && lcore_ != lcore) on_lcore(lcore_, [this] { page_pool_release(pool_); });
  lcore_ = lcore;
  on_lcore(lcore, [&] {
    const auto node = static_cast<unsigned>(page_pool_current_node());
    while (stretch.frames < frames && !failed_)
      poll(node, stretch);
  });
  return stretch;
}

}  // namespace nearpool::model
