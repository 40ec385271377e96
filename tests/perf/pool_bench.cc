// SPDX-License-Identifier: BSD-3-Clause
// Cycles per page of the page pool and of DPDK's own mempools.
//
// Contenders take turns within each round, the first one changes from round to round, and each
// round has new pools, so that a busy moment favours none of them.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "contenders.hpp"
#include "core_distance.hpp"
#include "loops.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace {

using namespace nearpool;
using namespace nearpool::bench;

constexpr const char* kStockOps[] = {kYardstick, "stack", "lf_stack", "bucket"};
constexpr unsigned kBulks[] = {1, 4, 32, 64};
constexpr unsigned kSets[] = {64, 1024};
constexpr uint32_t kProvisioned[] = {2047, 8191, 131071};
// Holds the larger set and what DPDK's caches hold back (3/2 of their size).
constexpr uint32_t kOneCorePages = 2047;
// How often contenders take turns within a cell.
constexpr unsigned kTurns = 5;
// How often a round of two lcores is tried before it counts although they were apart.
constexpr unsigned kDistanceTries = 5;
constexpr unsigned kHugepages = 192;  // the largest pool and the EAL's own needs, with 2 MiB each
constexpr char kOrdinaryMegabytes[] = "1024";

struct Options {
  std::string json;
  std::vector<std::string> scenarios{"one_core", "two_lcores", "keep_rule_off"};
  unsigned rounds = 15;
  double seconds = 30;
  bool no_huge = false;
  std::string norule;

  bool wants(const char* scenario) const {
    return std::find(scenarios.begin(), scenarios.end(), scenario) != scenarios.end();
  }
};

using Made = Result<std::unique_ptr<Contender>>;
struct Entry {
  Column column;
  std::function<Made(uint32_t pages)> make;
};

class PoolBench {
 public:
  PoolBench(const Options& options, const std::vector<unsigned>& cpus)
      : options_(options), cpus_(cpus), api_(PoolApi::linked()) {}

  Result<void> run();
  const Report& report() const { return report_; }

 private:
  Result<void> prepare();
  void time_slots();
  // One round of a scenario whose pools are measured in all cells, one after the other.
  Result<void> one_core_round(const char* scenario, const std::vector<Entry>& entries,
                              unsigned round);
  // One pool at a time: the largest would not fit side by side.
  Result<void> two_lcores_round(unsigned round);
  // One cell of it; the farthest the two CPUs were apart meanwhile, in nanoseconds.
  Result<double> two_lcores_cell(uint32_t pages, unsigned round, std::vector<double>& figures);
  double distance();
  void print_distances() const;

  Entry page_pool(const char* name, const PoolApi& api, bool strict) const;
  std::vector<Entry> with_stock(std::vector<Entry> entries) const;

  const Options& options_;
  const std::vector<unsigned>& cpus_;
  PoolApi api_;
  uint64_t slot_ = 0;
  std::vector<Entry> one_core_;
  std::vector<Entry> two_lcores_;
  std::vector<Entry> keep_rule_off_;
  Report report_;
  double nearest_ = std::numeric_limits<double>::infinity();
  double farthest_ = 0;
  unsigned cells_apart_ = 0;
};

Entry PoolBench::page_pool(const char* name, const PoolApi& api, bool strict) const {
  return {{name, strict ? "strict" : "relaxed"},
          [api, strict](uint32_t pages) { return make_page_pool(api, pages, strict); }};
}

std::vector<Entry> PoolBench::with_stock(std::vector<Entry> entries) const {
  for (const char* ops : kStockOps) {
    entries.push_back({{ops, ""}, [ops](uint32_t pages) { return make_stock(ops, pages); }});
  }
  return entries;
}

Result<void> PoolBench::prepare() {
  if (api_.emulate_nodes(kNodeMap) != 0) return fail(-EINVAL, api_.error());
  if (options_.wants("one_core")) {
    one_core_ = with_stock({page_pool(kPagePool, api_, false), page_pool(kPagePool, api_, true)});
  }
  if (options_.wants("two_lcores")) {
    if (rte_lcore_count() < 2) {
      return fail(-ENODEV,
                  "two_lcores needs two CPUs and this process may use one; give it "
                  "another, or leave the scenario out with --scenario");
    }
    two_lcores_ = with_stock({page_pool(kPagePool, api_, false)});
  }
  if (options_.wants("keep_rule_off")) {
    auto norule = PoolApi::load(options_.norule.c_str(), kNoRule);
    if (!norule) return tl::unexpected(norule.error());
    if (norule->emulate_nodes(kNodeMap) != 0) return fail(-EINVAL, norule->error());
    keep_rule_off_ = {page_pool(kPagePool, api_, false), page_pool(kNoRule, *norule, false),
                      page_pool(kTwin, api_, false)};
  }
  return {};
}

void PoolBench::time_slots() {
  const std::size_t slots =
      (one_core_.size() + keep_rule_off_.size()) * std::size(kBulks) * std::size(kSets) +
      two_lcores_.size() * std::size(kProvisioned);
  slot_ = static_cast<uint64_t>(options_.seconds * static_cast<double>(rte_get_tsc_hz()) /
                                static_cast<double>(slots * options_.rounds));
}

Result<void> PoolBench::one_core_round(const char* scenario, const std::vector<Entry>& entries,
                                       unsigned round) {
  if (entries.empty()) return {};
  const unsigned skew = round * kSkewStep % kMostSkew;
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const Entry& entry : entries) {
    Made made = entry.make(kOneCorePages);
    if (!made) return tl::unexpected(made.error());
    contenders.push_back(std::move(*made));
  }
  for (const unsigned set : kSets) {
    for (const unsigned bulk : kBulks) {
      std::vector<std::vector<double>> figures(entries.size());
      for (std::size_t turn = 0; turn < kTurns * entries.size(); ++turn) {
        const std::size_t index = (turn + round) % entries.size();
        Result<double> cycles = one_core(*contenders[index], bulk, set, skew, slot_ / kTurns);
        if (!cycles) return tl::unexpected(cycles.error());
        if (auto good = contenders[index]->verify(); !good) return good;
        figures[index].push_back(*cycles);
      }
      for (std::size_t index = 0; index < entries.size(); ++index) {
        report_.add({scenario, bulk, set}, entries[index].column, median(figures[index]));
      }
    }
  }
  for (const auto& contender : contenders) {
    if (auto retired = contender->retire(); !retired) return retired;
  }
  return {};
}

double PoolBench::distance() {
  const double nanoseconds = core_distance(cpus_[0], cpus_[1]);
  if (!(nanoseconds > 0)) return 0;  // not to be had here: nothing is measured again for it
  nearest_ = std::min(nearest_, nanoseconds);
  farthest_ = std::max(farthest_, nanoseconds);
  return nanoseconds;
}

Result<double> PoolBench::two_lcores_cell(uint32_t pages, unsigned round,
                                          std::vector<double>& figures) {
  double farthest = distance();
  for (std::size_t turn = 0; turn < two_lcores_.size(); ++turn) {
    const std::size_t index = (turn + round) % two_lcores_.size();
    Made made = two_lcores_[index].make(pages);
    if (!made) return tl::unexpected(made.error());
    Result<double> cycles = two_lcores(**made, pages, slot_);
    if (!cycles) return tl::unexpected(cycles.error());
    if (auto retired = (*made)->retire(); !retired) return tl::unexpected(retired.error());
    figures[index] = *cycles;
    farthest = std::max(farthest, distance());
  }
  return farthest;
}

// A cell is measured again if the host has put the CPUs apart meanwhile.
Result<void> PoolBench::two_lcores_round(unsigned round) {
  if (two_lcores_.empty()) return {};
  for (const uint32_t pages : kProvisioned) {
    std::vector<double> figures(two_lcores_.size());
    for (unsigned tries = 1;; ++tries) {
      const Result<double> farthest = two_lcores_cell(pages, round, figures);
      if (!farthest) return tl::unexpected(farthest.error());
      if (*farthest <= kNear * nearest_) break;
      if (tries < kDistanceTries) continue;
      ++cells_apart_;
      break;
    }
    for (std::size_t index = 0; index < two_lcores_.size(); ++index)
      report_.add({"two_lcores", kPipelineBulk, pages}, two_lcores_[index].column, figures[index]);
  }
  return {};
}

void PoolBench::print_distances() const {
  if (two_lcores_.empty()) return;
  if (farthest_ == 0) {
    fmt::print("how far apart the two CPUs are is unmeasured\n");
    return;
  }
  fmt::print(
      "CPUs {} and {}: a cache line takes {:.0f} to {:.0f} ns there and back; {} of {} rounds "
      "of two_lcores were measured while they were apart\n",
      cpus_[0], cpus_[1], nearest_, farthest_, cells_apart_,
      options_.rounds * std::size(kProvisioned));
}

Result<void> PoolBench::run() {
  if (auto ready = prepare(); !ready) return ready;
  time_slots();
  fmt::print("{} rounds, {:.2f} ms per contender and cell in each\n", options_.rounds,
             1e3 * static_cast<double>(slot_) / static_cast<double>(rte_get_tsc_hz()));
  for (unsigned round = 0; round < options_.rounds; ++round) {
    if (auto done = one_core_round("one_core", one_core_, round); !done) return done;
    if (auto done = two_lcores_round(round); !done) return done;
    if (auto done = one_core_round("keep_rule_off", keep_rule_off_, round); !done) return done;
  }
  print_distances();
  return {};
}

// Returns what the pools' memory is, for the reader.
Result<std::string> start_eal(const std::vector<unsigned>& cpus, bool no_huge) {
  std::string memory = "2 MiB hugepages";
  if (!no_huge && free_hugepages() < kHugepages) {
    no_huge = true;
    memory = fmt::format("ordinary pages, since {} of {} hugepages of 2 MiB are free",
                         free_hugepages(), kHugepages);
  } else if (no_huge) {
    memory = "ordinary pages, as asked for";
  }
  std::string lcores = fmt::format("{}@{}", kTaker, cpus[0]);
  if (cpus.size() > 1) lcores += fmt::format(",{}@{}", kReturner, cpus[1]);
  std::vector<std::string> arguments{"pool_bench",
                                     "--lcores",
                                     lcores,
                                     "--main-lcore",
                                     std::to_string(kTaker),
                                     "--no-pci",
                                     "--no-telemetry",
                                     "--file-prefix",
                                     fmt::format("nearpool_pool_bench_{}", getpid()),
                                     "--log-level=lib.*:warning"};
  if (no_huge) {
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "-m", kOrdinaryMegabytes});
  } else {
    arguments.push_back("--in-memory");
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    return fail(-EIO, "the EAL does not start: its messages are above");
  }
  return memory;
}

int run(const Options& options) {
  std::vector<unsigned> cpus = allowed_cpus();
  while (cpus.size() > 2)
    cpus.pop_back();
  const Result<std::string> memory = start_eal(cpus, options.no_huge);
  if (!memory) {
    fmt::print(stderr, "pool_bench: {}\n", memory.error().message);
    return 1;
  }
  print_machine(cpus, *memory);
  fmt::print("two nodes are emulated; data room {}, caches of {}\n", kDataRoom, kCacheSize);
  PoolBench bench(options, cpus);
  Result<void> done = bench.run();
  bench.report().print();
  if (done && !options.json.empty()) done = bench.report().write_json(options.json);
  if (!done) fmt::print(stderr, "pool_bench: {}\n", done.error().message);
  rte_eal_cleanup();
  return done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.norule =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libpage_pool_norule.so";
  CLI::App app("Cycles per page of the page pool and of DPDK's own mempools");
  app.add_option("--json", options.json, "Write the figures to this file");
  app.add_option("--rounds", options.rounds, "Rounds, new pools in each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Time to measure for, making pools not included")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_option("--scenario", options.scenarios, "Only these; may be given several times")
      ->check(CLI::IsMember({"one_core", "two_lcores", "keep_rule_off"}))
      ->capture_default_str();
  app.add_flag("--no-huge", options.no_huge, "Ordinary pages instead of hugepages");
  app.add_option("--norule", options.norule, "The plugin built without the keep rule");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
