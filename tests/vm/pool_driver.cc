// SPDX-License-Identifier: BSD-3-Clause
// Arena and pools on a pipe: a scenario says, line by line, which lcore takes and gives how many
// pages of which pool, and looks from outside where they are.
//   arena MIN LOW HIGH NODE:PAGES...   pool NAME NODE           service
//   take LCORE NAME N                  give LCORE NAME N        pages NAME
//   loop LCORE NAME N                  rest LCORE               release LCORE NAME
//   show-pool NAME                     show-node NODE
// Each line is answered by one, which begins with "ok" or "error".
#include <fmt/format.h>
#include <page_pool.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kBurst = 32;

struct Pool {
  page_pool* pool = nullptr;
  std::vector<rte_mbuf*> held;
};

// A lcore that takes and gives the same number of pages over and over, as a poll loop does.
struct Loop {
  std::atomic<bool> stop{false};  // set by the control thread; orders nothing
  uint64_t turns = 0;
  uint64_t failed = 0;
};

page_arena* arena = nullptr;
std::map<std::string, Pool> pools;
std::map<unsigned, Loop> loops;

std::string error(const std::string& what) {
  return "error: " + what;
}

int call(void* job) {
  (*static_cast<std::function<void()>*>(job))();
  return 0;
}

// Runs a job on a worker lcore and waits for it.
bool on_lcore(unsigned lcore, std::function<void()> job) {
  if (rte_eal_remote_launch(call, &job, lcore) != 0) return false;
  rte_eal_wait_lcore(lcore);
  return true;
}

std::string make_arena(std::istringstream& words) {
  page_arena_params params{};
  std::vector<page_arena_node> nodes;
  words >> params.min_pages >> params.low_pages >> params.high_pages;
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    nodes.push_back({std::stoi(word.substr(0, colon)),
                     static_cast<uint32_t>(std::stoul(word.substr(colon + 1)))});
  }
  params.name = "driver";
  params.data_room = 2176;
  params.nodes = nodes.data();
  params.nb_nodes = static_cast<uint32_t>(nodes.size());
  if (page_arena_create(&params, &arena) != 0) return error(page_pool_error());
  return "ok";
}

std::string make_pool(std::istringstream& words) {
  std::string name;
  page_pool_params params{};
  words >> name >> params.node;
  params.name = name.c_str();
  params.arena = arena;
  params.cache_size = 128;
  page_arena_stats stats;
  for (uint32_t i = 0; page_arena_get_stats(arena, i, &stats) == 0; i++)
    params.quota += stats.pages;
  if (page_pool_create(&params, &pools[name].pool) != 0) return error(page_pool_error());
  return "ok";
}

std::string take(unsigned lcore, Pool& pool, unsigned count) {
  unsigned got = 0;
  on_lcore(lcore, [&] {
    page_pool_nid_changed(pool.pool, page_pool_current_node());
    while (got < count) {
      rte_mbuf* burst[kBurst];
      const unsigned n = std::min(kBurst, count - got);
      if (page_pool_alloc_bulk(pool.pool, burst, n) != 0) break;
      pool.held.insert(pool.held.end(), burst, burst + n);
      got += n;
    }
  });
  return fmt::format("ok took {}", got);
}

std::string give(unsigned lcore, Pool& pool, unsigned count) {
  const unsigned given = std::min(count, static_cast<unsigned>(pool.held.size()));
  on_lcore(lcore, [&] {
    for (unsigned at = 0; at < given; at += kBurst)
      page_pool_put_bulk(pool.pool, &pool.held[at], std::min(kBurst, given - at));
    page_pool_flush_returns(pool.pool);
    page_pool_nid_changed(pool.pool, page_pool_current_node());
  });
  pool.held.erase(pool.held.begin(), pool.held.begin() + given);
  return fmt::format("ok gave {}", given);
}

struct LoopJob {
  Loop* loop;
  page_pool* pool;
  unsigned pages;
};

int run_loop(void* argument) {
  const LoopJob job = *static_cast<LoopJob*>(argument);
  delete static_cast<LoopJob*>(argument);
  std::vector<rte_mbuf*> burst(job.pages);
  while (!job.loop->stop.load(std::memory_order_relaxed)) {
    page_pool_nid_changed(job.pool, page_pool_current_node());
    job.loop->turns++;
    if (page_pool_alloc_bulk(job.pool, burst.data(), job.pages) != 0) {
      job.loop->failed++;
      continue;
    }
    page_pool_put_bulk(job.pool, burst.data(), job.pages);
  }
  page_pool_release(job.pool);
  return 0;
}

std::string rest(unsigned lcore) {
  Loop& loop = loops[lcore];
  loop.stop = true;
  rte_eal_wait_lcore(lcore);
  return fmt::format("ok turns {} failed {}", loop.turns, loop.failed);
}

std::string show_pool(const Pool& pool) {
  page_pool_stats s;
  page_pool_get_stats(pool.pool, &s);
  return fmt::format(
      "ok nid {} owned {} foreign {} pressure {} inflight {} kept {} fallback {} took_pressure {} "
      "refused_pressure {} surplus {} failed {} strict {}",
      s.nid, s.owned, s.owned_foreign, s.owned_pressure, s.inflight,
      s.cached + s.stashed + s.ringed, s.alloc_fallback, s.alloc_pressure, s.pressure_refused,
      s.released_surplus, s.alloc_failed, s.strict ? 1 : 0);
}

std::string show_node(int node) {
  page_arena_stats s;
  for (uint32_t i = 0; page_arena_get_stats(arena, i, &s) == 0; i++) {
    if (s.node != node) continue;
    return fmt::format("ok pages {} free {} min {} low {} high {} pressure_out {} asking {}",
                       s.pages, s.free, s.min, s.low, s.high, s.pressure_out, s.asking ? 1 : 0);
  }
  return error("no such node in the arena");
}

std::string show_pages(const Pool& pool) {
  std::string text = "ok";
  for (const rte_mbuf* page : pool.held)
    text += fmt::format(" {:x}", reinterpret_cast<uintptr_t>(page));
  return text;
}

std::string of_pool(const std::string& verb, std::istringstream& words, unsigned lcore) {
  std::string name;
  unsigned count = 0;
  words >> name >> count;
  const auto found = pools.find(name);
  if (found == pools.end()) return error("no pool " + name);
  Pool& pool = found->second;
  if (verb == "take") return take(lcore, pool, count);
  if (verb == "give") return give(lcore, pool, count);
  if (verb == "pages") return show_pages(pool);
  if (verb == "show-pool") return show_pool(pool);
  if (verb == "release") {
    on_lcore(lcore, [&] { page_pool_release(pool.pool); });
    return "ok";
  }
  Loop& loop = loops[lcore];
  loop.stop = false;
  loop.turns = loop.failed = 0;
  rte_eal_remote_launch(run_loop, new LoopJob{&loop, pool.pool, count}, lcore);
  return "ok";
}

std::string answer(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  unsigned number = 0;
  if (verb == "arena") return make_arena(words);
  if (verb == "pool") return make_pool(words);
  if (verb == "service") return fmt::format("ok {} dying", page_pool_service());
  if (verb == "pages" || verb == "show-pool") return of_pool(verb, words, 0);
  words >> number;
  if (verb == "show-node") return show_node(static_cast<int>(number));
  if (verb == "rest") return rest(number);
  return of_pool(verb, words, number);
}

// All pages go back, all pools end; 0 when the arena is free of them.
int end() {
  for (auto& [name, pool] : pools) {
    unsigned lcore;
    RTE_LCORE_FOREACH_WORKER(lcore) {
      on_lcore(lcore, [consumed = pool.pool] { page_pool_release(consumed); });
    }
    // From the main lcore, which consumes nothing.
    page_pool_put_bulk(pool.pool, pool.held.data(), static_cast<unsigned>(pool.held.size()));
    page_pool_flush_returns(pool.pool);
    page_pool_destroy(pool.pool);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (page_pool_service() != 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return page_arena_destroy(arena);
}

}  // namespace

int main(int argc, char** argv) {
  if (rte_eal_init(argc, argv) < 0) return 1;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(line) << std::endl;
  const int left = end();
  std::cout << (left == 0 ? "ok all pages came home" : error(page_pool_error())) << std::endl;
  rte_eal_cleanup();
  return left == 0 ? 0 : 1;
}
