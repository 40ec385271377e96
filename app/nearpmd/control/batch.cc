// SPDX-License-Identifier: BSD-3-Clause
#include "control/batch.hpp"

#include <poll.h>
#include <rte_cycles.h>

#include <algorithm>

#include "control/input_watch.hpp"
#include "control/leaks.hpp"
#include "control/live_view.hpp"
#include "control/rebalancer.hpp"
#include "control/report.hpp"
#include "control/signals.hpp"

namespace nearpool {
namespace {

constexpr int kTickMilliseconds = 20;
constexpr double kQuietSeconds = 0.1;      // a file is at its end
constexpr double kIdleQuietSeconds = 1.0;  // --exit-when-idle: live ports pause

double now_seconds() {
  return static_cast<double>(rte_get_tsc_cycles()) / static_cast<double>(rte_get_tsc_hz());
}

bool all_inputs_finite(const Engine& engine) {
  const auto ports = engine.ports_in_use();
  return std::all_of(ports.begin(), ports.end(),
                     [](const Port* port) { return port->finite_input(); });
}

uint64_t arrivals(const Engine& engine) {
  uint64_t sum = 0;
  for (const Port* port : engine.ports_in_use()) {
    const PortFrames frames = frames_of(*port);
    sum += frames.polled.of(&QueueCounters::received) + frames.device.rx_nombuf +
           frames.device.ierrors + frames.transmitted.of(&QueueCounters::received);
  }
  return sum;
}

uint64_t fewest_polls(const Engine& engine) {
  uint64_t fewest = UINT64_MAX;
  for (const LcorePlace& place : engine.forwarding_lcores()) {
    if (const Worker* worker = engine.workers()->find(place.lcore)) {
      fewest = std::min(fewest, worker->counters().polls.read());
    }
  }
  return fewest;
}

}  // namespace

Status run_batch(Engine& engine) {
  const Options& options = engine.options();
  if (!engine.forwarding()) {
    if (auto status = engine.start(options.tx_first ? 1 : 0); !status) return status;
  }
  fmt::print("forwarding: {}, {} ports, {} lcores{}\n", verdict_name(options.verdict),
             engine.ports_in_use().size(), engine.forwarding_lcores().size(),
             page_pool_nodes_emulated() ? ", nodes emulated" : "");
  std::fflush(stdout);

  const bool finite = all_inputs_finite(engine);
  InputWatch watch(finite ? kQuietSeconds : kIdleQuietSeconds);
  double next_report = now_seconds() + options.stats_period;
  Rebalancer rebalancer;
  LiveView view;
  if (options.stats_period != 0) view.next(look_at_queues(engine), now_seconds(), 0);
  while (!stop_requested()) {
    poll(nullptr, 0, kTickMilliseconds);  // ends early on a signal
    engine.tick();
    const double now = now_seconds();
    rebalancer.tick(engine, now, 1);
    if ((finite || options.exit_when_idle) &&
        watch.ended(arrivals(engine), fewest_polls(engine), now)) {
      break;
    }
    if (options.stats_period != 0 && now >= next_report) {
      const unsigned rows = terminal_rows(stdout);
      if (rows == 0) {
        for (const Port* port : engine.ports_in_use())
          print_frames(stdout, *port, frames_of(*port));
      }
      fmt::print("{}", view.next(look_at_queues(engine), now, rows));
      std::fflush(stdout);
      next_report += options.stats_period;
    }
  }
  if (options.pool.leak_seconds != 0) {
    if (auto status = print_leaks(stdout, engine); !status) return status;
  }
  return engine.stop();
}

}  // namespace nearpool
