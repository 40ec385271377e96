// SPDX-License-Identifier: BSD-3-Clause
#include "control/leaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace nearpool {
namespace {

constexpr size_t kPagesShown = 8;

void collect(const page_pool_out* out, void* argument) {
  static_cast<std::vector<page_pool_out>*>(argument)->push_back(*out);
}

std::string lcore_text(int lcore) {
  return lcore < 0 ? "a thread without an lcore id" : fmt::format("lcore {}", lcore);
}

void print_queue(std::FILE* out, const RxQueue& queue, uint32_t seconds,
                 std::vector<page_pool_out>& pages) {
  std::map<int, unsigned> by_lcore;
  for (const page_pool_out& page : pages)
    by_lcore[page.lcore]++;
  fmt::print(out, "pool {} (port {} queue {}): {} pages out for more than {} s",
             queue.buffers->books().name, queue.key.port, queue.key.queue, pages.size(), seconds);
  const char* separator = "; handed to ";
  for (const auto& [lcore, count] : by_lcore) {
    fmt::print(out, "{}{}: {}", separator, lcore_text(lcore), count);
    separator = ", ";
  }
  fmt::print(out, "\n");
  const size_t shown = std::min(pages.size(), kPagesShown);
  std::partial_sort(pages.begin(), pages.begin() + static_cast<ptrdiff_t>(shown), pages.end(),
                    [](const auto& a, const auto& b) { return a.age_ms > b.age_ms; });
  for (size_t i = 0; i < shown; i++) {
    fmt::print(out, "  page {} out for {:.1f} s, handed to {}\n", pages[i].page,
               static_cast<double>(pages[i].age_ms) / 1000, lcore_text(pages[i].lcore));
  }
  if (shown < pages.size()) fmt::print(out, "  and {} pages more\n", pages.size() - shown);
}

}  // namespace

Status print_leaks(std::FILE* out, const Engine& engine) {
  const uint32_t seconds = engine.options().pool.leak_seconds;
  if (seconds == 0) {
    return failure("pages are not watched: start nearpmd with --leak-report SECONDS");
  }
  for (const auto& entry : engine.ports()) {
    for (const auto& queue : entry.second->rx_queues()) {
      if (!queue->buffers || queue->buffers->pool() == nullptr) continue;
      std::vector<page_pool_out> pages;
      if (page_pool_walk_out(queue->buffers->pool(), uint64_t{seconds} * 1000, collect, &pages) !=
          0) {
        return failure("{}", page_pool_error());
      }
      print_queue(out, *queue, seconds, pages);
    }
  }
  return {};
}

}  // namespace nearpool
