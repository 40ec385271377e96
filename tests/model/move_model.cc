// SPDX-License-Identifier: BSD-3-Clause
// A model of what following the node gains in time. Which page a frame is in decides the pool
// itself; what that costs is taken from a published table. Nothing is measured.
#include <fmt/format.h>
#include <rte_eal.h>

#include <iterator>
#include <optional>

#include "poll_loop.hpp"

namespace {

using namespace nearpool::model;

constexpr uint32_t kSendRing = 1024;
constexpr uint64_t kWarm = 100'000;    // frames before the move
constexpr uint64_t kSettle = 100'000;  // after it, before the far rate is taken
constexpr uint64_t kFrames = 100'000;  // whose rate is taken
constexpr uint64_t kStep = 512;        // of the table over time
constexpr unsigned kSteps = 10;

struct Variant {
  const char* name;
  uint32_t flags;
};
constexpr Variant kVariants[] = {
    {"neither", PAGE_POOL_F_NO_NODE_FOLLOW | PAGE_POOL_F_NO_FOREIGN_REJECT},
    {"follow", PAGE_POOL_F_NO_FOREIGN_REJECT},
    {"reject", PAGE_POOL_F_NO_NODE_FOLLOW},
    {"both", 0},
};

struct Outcome {
  double near = 0;
  double far = 0;
  double far_pages = 0;  // share
  std::vector<Stretch> steps;
};

std::optional<Outcome> simulate(page_arena* arena, const Scenario& scenario, uint32_t flags) {
  LoopSettings settings;
  settings.sent = scenario.name == "drop" ? 0 : kSendRing;
  settings.pool_flags = flags;
  PollLoop loop(arena, Costs(scenario), settings);
  Outcome outcome;
  loop.run(kNearLcore, kWarm);
  outcome.near = loop.run(kNearLcore, kFrames).mpps();
  for (unsigned step = 0; step < kSteps; step++)
    outcome.steps.push_back(loop.run(kFarLcore, kStep));
  loop.run(kFarLcore, kSettle);
  const Stretch far = loop.run(kFarLcore, kFrames);
  outcome.far = far.mpps();
  outcome.far_pages = static_cast<double>(far.far_pages) / static_cast<double>(far.frames);
  if (loop.refill_failed()) return std::nullopt;
  return outcome;
}

void print_assumptions() {
  fmt::print(
      "MODEL, not a measurement: rates in Mpps of one core, when a receive queue moves to a core "
      "of "
      "the other node.\n"
      "  Real here: which page each frame is in, decided by the page pool on two emulated nodes, "
      "with "
      "1024 posted\n"
      "  buffers, bursts of 64, and 1024 frames in the send ring.\n"
      "  Published: the near rate and the far rate with pages left behind (Linux page_pool, Xeon "
      "E5-2603 v4, ConnectX-4).\n"
      "  Assumed: descriptors stay on the NIC's node; each cache line that the device touched "
      "costs "
      "the same more when it\n"
      "  is on the other node; caches, bandwidth and the pool's own cycles are not modelled.\n\n");
}

int print_rates(page_arena* arena) {
  std::vector<std::pair<std::string, Outcome>> over_time;
  fmt::print("{:<6} {:<9} {:>10} {:>10} {:>14} {:>12}\n", "", "pool does", "near", "far",
             "far pages", "published");
  for (const Scenario& scenario : kScenarios) {
    for (const Variant& variant : kVariants) {
      const auto outcome = simulate(arena, scenario, variant.flags);
      if (!outcome) return 1;
      std::string published = "-";
      if (std::string(variant.name) == "neither") {
        published = fmt::format("{:.1f} (input)", scenario.published.far_before);
      }
      if (variant.flags == 0) {
        published = fmt::format("{:.1f}", scenario.published.far_after);
        over_time.emplace_back(scenario.name, *outcome);
      }
      fmt::print("{:<6} {:<9} {:>10.1f} {:>10.1f} {:>13.0f}% {:>12}\n", scenario.name, variant.name,
                 outcome->near, outcome->far, 100 * outcome->far_pages, published);
    }
    fmt::print("{:<6} one line on the other node costs {:.0f} ns more\n", "",
               Costs(scenario).line());
  }
  fmt::print("\nAfter the move, with both: rate, and share of frames in pages left behind\n{:<16}",
             "frames");
  for (const auto& [name, outcome] : over_time)
    fmt::print(" {:>20}", name);
  for (unsigned step = 0; step < kSteps; step++) {
    fmt::print("\n{:>6} to {:<6}", step * kStep, (step + 1) * kStep);
    for (const auto& [name, outcome] : over_time) {
      const Stretch& stretch = outcome.steps[step];
      fmt::print(
          " {:>13.1f} {:>5.0f}%", stretch.mpps(),
          100.0 * static_cast<double>(stretch.far_pages) / static_cast<double>(stretch.frames));
    }
  }
  fmt::print("\n");
  return 0;
}

}  // namespace

int main() {
  const char* eal[] = {"move_model",
                       "--no-huge",
                       "-m",
                       "64",
                       "--no-pci",
                       "--no-telemetry",
                       "--lcores=(0-2)@0",
                       "--file-prefix=move_model",
                       "--log-level=lib.eal:error"};
  if (rte_eal_init(static_cast<int>(std::size(eal)), const_cast<char**>(eal)) < 0) return 1;
  if (page_pool_emulate_nodes(
          fmt::format("0:{},{}:{},{}:{}", kNicNode, kNearLcore, kNicNode, kFarLcore, kFarNode)
              .c_str()) != 0) {
    fmt::print(stderr, "move_model: {}\n", page_pool_error());
    return 1;
  }
  const page_arena_node nodes[] = {{kNicNode, 8192}, {kFarNode, 8192}};
  page_arena_params params{};
  params.name = "model";
  params.data_room = 256;
  params.nodes = nodes;
  params.nb_nodes = 2;
  params.flags = PAGE_ARENA_F_NO_HUGE;
  page_arena* arena = nullptr;
  if (page_arena_create(&params, &arena) != 0) {
    fmt::print(stderr, "move_model: {}\n", page_pool_error());
    return 1;
  }
  print_assumptions();
  const int status = print_rates(arena);
  const int left = page_arena_destroy(arena);
  rte_eal_cleanup();
  return status != 0 || left != 0 ? 1 : 0;
}
