// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor.hpp"

#include <fmt/format.h>
#include <rte_build_config.h>

#include <algorithm>
#include <iterator>

#include "control/sizing.hpp"
#include "doctor/checks.hpp"
#include "doctor/pause_frames.hpp"

namespace nearpool::doctor {
namespace {

constexpr Findings (*kChecks[])(const Visit&) = {
    check_hugepages,    check_main_lcore,       check_memlock,   check_numa_balancing,
    check_device_nodes, check_isolated_cpus,    check_governor,  check_kernel_drivers,
    check_iommu_mode,   check_pause_frames,     check_fast_free, check_firmware,
    check_rdma_core,    check_device_arguments, check_plugin};

// Object header, rte_mbuf, and what rounding to cache lines adds.
constexpr uint64_t kPageOverhead = 256;
// The EAL's own: rings, queues, mempool headers.
constexpr uint64_t kEalBytes = uint64_t{64} << 20;

const char* mark(Health health) {
  switch (health) {
    case Health::kGood:
      return "[ok]    ";
    case Health::kSlow:
      return "[advice]";
    case Health::kStops:
      return "[STOPS] ";
    case Health::kUnknown:
      break;
  }
  return "[unseen]";
}

}  // namespace

Findings examine(const Visit& visit) {
  Findings all;
  for (const auto check : kChecks) {
    Findings some = check(visit);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

int print_checklist(std::FILE* to, const Findings& findings) {
  const auto count = [&](Health health) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& finding) { return finding.health == health; });
  };
  for (const Finding& finding : findings) {
    fmt::print(to, "{} {}: {}\n", mark(finding.health), finding.topic, finding.seen);
    if (!finding.advice.empty()) fmt::print(to, "           -> {}\n", finding.advice);
  }
  const auto stops = count(Health::kStops);
  fmt::print(to, "{} well, {} with advice, {} not to be seen, {} that stop nearpmd\n",
             count(Health::kGood), count(Health::kSlow), count(Health::kUnknown), stops);
  return stops == 0 ? kAllWell : kSomethingStops;
}

uint64_t bytes_wanted(const Options& options, size_t ports, size_t lcores) {
  uint64_t pages = options.arena.total_num_pages;
  if (pages == 0) {
    const auto forwarding = static_cast<uint32_t>(std::max<size_t>(lcores, 1));
    const PortShape shape{options.rxq, options.rxd, options.txq == 0 ? forwarding : options.txq,
                          options.txd};
    const std::vector<PortShape> shapes(std::max<size_t>(ports, 1), shape);
    SizingInput input;
    input.ports = shapes;
    input.lcores = forwarding;
    input.burst = options.burst;
    input.cache = options.pool.cache;
    input.bulk = options.pool.bulk;
    input.handoff = options.verdict == Verdict::kRedirectCpu;
    input.stock = options.pool.ops != "page_pool";
    pages = size_pages(input).arena;
  }
  return pages * (options.arena.mbuf_size + kPageOverhead) + kEalBytes;
}

int run_doctor(const std::vector<std::string>& eal, const Options& options) {
  const auto arguments = read_eal_arguments(eal);
  if (!arguments) {
    fmt::print(stderr, "nearpmd: --doctor: {}\n", arguments.error());
    return 1;
  }
  Visit visit;
  visit.driver_directory = RTE_EAL_PMD_PATH;
  visit.ask_pause_frames = ask_pause_frames;
  complete(visit, *arguments);
  visit.bytes_wanted =
      bytes_wanted(options, visit.devices.size() + arguments->vdevs, visit.cpus.size());
  return print_checklist(stdout, examine(visit));
}

}  // namespace nearpool::doctor
