// SPDX-License-Identifier: BSD-3-Clause
// Who polls what: show rxq, move rxq, rebalancing.
#include <rte_cycles.h>

#include "cli/session.hpp"

namespace nearpool {
namespace {

// The share of a pool's pages on the node of the lcore that polls it, and where they all are.
std::string pages_text(const QueueBuffers& buffers, int node) {
  if (buffers.pool() == nullptr) return "stock";
  page_pool_stats stats;
  page_pool_get_stats(buffers.pool(), &stats);
  if (stats.owned == 0) return "no pages";
  const uint32_t local = node < 0 ? 0 : stats.owned_node[node];
  return fmt::format("pages on node {}: {} of {} ({:.1f}%)", node, local, stats.owned,
                     100.0 * local / stats.owned);
}

double microseconds(unsigned bucket) {
  return static_cast<double>(uint64_t{1} << bucket) * 1e6 / static_cast<double>(rte_get_tsc_hz());
}

void print_histogram(const std::string& title, const PollHistogram& histogram) {
  std::string text;
  for (unsigned bucket = 0; bucket < PollHistogram::kBuckets; bucket++) {
    const uint64_t count = histogram.read(bucket);
    if (count != 0) text += fmt::format(" <{:.3g}us:{}", microseconds(bucket + 1), count);
  }
  if (!text.empty()) fmt::print("  {}:{}\n", title, text);
}

Status show_rxq(const Session& session) {
  const char* emulated = page_pool_nodes_emulated() ? " (emulated)" : "";
  for (const unsigned lcore : session.engine.workers()->lcores()) {
    const LcoreCounters& counters = session.engine.workers()->find(lcore)->counters();
    const int node = page_pool_lcore_node(lcore);
    fmt::print("lcore {} node {}{}: load {:.0f}%, {} polls, {} idle TX queues reaped\n", lcore,
               node, emulated, 100 * session.load.lcore(lcore), counters.polls.read(),
               counters.reaps.read());
    print_histogram(fmt::format("up to {} polls in a row, by duration", Worker::kPollsPerLook),
                    counters.histogram);
    print_histogram("single polls after a move, by duration", counters.after_move);
    for (const auto& entry : session.engine.ports()) {
      const Port& port = *entry.second;
      for (const auto& queue : port.rx_queues()) {
        if (session.engine.owner(queue->key) != lcore || !queue->buffers) continue;
        fmt::print("  port {} queue {}: load {:.0f}%, port node {}, {}{}\n", queue->key.port,
                   queue->key.queue, 100 * session.load.queue(queue->key),
                   port.node() == kUnknownNode ? "unknown" : std::to_string(port.node()),
                   pages_text(*queue->buffers, node),
                   port.state() == PortState::kStarted ? "" : ", port not started");
      }
    }
  }
  return {};
}

Status move_rxq(Session& session, const Arguments& arguments) {
  const auto port = arguments.number(2, "port", RTE_MAX_ETHPORTS);
  if (!port) return tl::unexpected(port.error());
  const auto queue = arguments.number(3, "queue", RTE_MAX_QUEUES_PER_PORT);
  if (!queue) return tl::unexpected(queue.error());
  const auto lcore = arguments.number(5, "lcore", RTE_MAX_LCORE);
  if (!lcore) return tl::unexpected(lcore.error());
  const QueueKey key{static_cast<uint16_t>(*port), static_cast<uint16_t>(*queue)};
  const unsigned before = session.engine.owner(key);
  if (auto status = session.engine.move(key, *lcore); !status) return status;
  if (session.verbose > 0) {
    fmt::print("port {} queue {}: lcore {} -> {}\n", *port, *queue,
               before == kNoLcore ? "none" : std::to_string(before), *lcore);
  }
  return {};
}

Status set_rebalance(Session& session, const std::string& how) {
  RebalanceOptions& options = session.engine.options().rebalance;
  options.on = how != "off";
  options.dry_run = how == "dry-run";
  session.rebalancer.begin_anew();
  session.chosen("rebalance", options.on ? "true" : "false");
  session.chosen("rebalance-dry-run", options.dry_run ? "true" : "false");
  return {};
}

struct Limit {
  const char* name;
  uint32_t RebalanceOptions::*member;
  unsigned most;
};
constexpr Limit kLimits[] = {
    {"period", &RebalanceOptions::period_seconds, 3600},
    {"threshold", &RebalanceOptions::threshold_percent, 100},
    {"gain", &RebalanceOptions::gain_percent, 100},
};

Status set_rebalance_limit(Session& session, const Arguments& arguments) {
  for (const Limit& limit : kLimits) {
    if (arguments.word(2) != limit.name) continue;
    const auto value = arguments.number(3, limit.name, limit.most + 1);
    if (!value || *value == 0) {
      return failure("{} '{}' is not a number from 1 to {}", limit.name, arguments.word(3),
                     limit.most);
    }
    session.engine.options().rebalance.*limit.member = *value;
    session.rebalancer.begin_anew();
    session.chosen(fmt::format("rebalance-{}", limit.name), arguments.word(3));
  }
  return {};
}

}  // namespace

std::vector<Command> queue_commands(Session& s) {
  const std::string queues = "queues";
  return {
      {"show rxq", queues, "who polls what, load, nodes, poll durations",
       [&s](const Arguments&) { return show_rxq(s); }},
      {"move rxq PORT QUEUE lcore LCORE", queues, "gives a queue to another lcore, at any time",
       [&s](const Arguments& a) { return move_rxq(s, a); }},
      {"set rebalance on|off|dry-run", queues, "queues go from overloaded lcores to idle ones",
       [&s](const Arguments& a) { return set_rebalance(s, a.word(2)); }},
      {"set rebalance period|threshold|gain NUMBER", queues, "seconds; percent; percentage points",
       [&s](const Arguments& a) { return set_rebalance_limit(s, a); }},
  };
}

}  // namespace nearpool
