// SPDX-License-Identifier: BSD-3-Clause
#include "control/queue_board.hpp"

#include "control/engine.hpp"

namespace nearpool {
namespace {

uint64_t dropped(const QueueCounters& counters) {
  uint64_t sum = 0;
  for (const QueueCounterName& entry : kQueueCounters) {
    if (entry.drop) sum += (counters.*entry.member).read();
  }
  return sum;
}

void look_at_pool(const QueueBuffers& buffers, QueueLine& line) {
  const PoolBooks books = buffers.books();
  line.pool = books.name;
  if (buffers.pool() == nullptr) {
    line.owned = books.owned;
    line.inflight = books.inflight;
    return;
  }
  page_pool_stats stats;
  page_pool_get_stats(buffers.pool(), &stats);
  line.pool_id = stats.id;
  line.nid = stats.nid;
  line.strict = stats.strict;
  line.quota = stats.quota;
  line.owned = stats.owned;
  line.foreign = stats.owned_foreign;
  line.cached = stats.cached;
  line.stashed = stats.stashed;
  line.ringed = stats.ringed;
  line.inflight = stats.inflight;
}

QueueLine look_at_queue(const Engine& engine, const Port& port, const RxQueue& queue) {
  QueueLine line;
  line.port = queue.key.port;
  line.queue = queue.key.queue;
  line.device = port.name();
  line.port_node = port.node();
  line.started = port.state() == PortState::kStarted;
  const unsigned lcore = engine.owner(queue.key);
  if (engine.forwarding() && line.started && lcore != kNoLcore) {
    line.lcore = static_cast<int>(lcore);
    line.lcore_node = page_pool_lcore_node(lcore);
  }
  line.received = queue.counters.received.read();
  line.forwarded = queue.counters.forwarded.read() + queue.transmitter.forwarded.read();
  line.dropped = dropped(queue.counters) + dropped(queue.transmitter);
  if (queue.buffers) look_at_pool(*queue.buffers, line);
  return line;
}

}  // namespace

std::vector<QueueLine> look_at_queues(const Engine& engine) {
  std::vector<QueueLine> lines;
  for (const auto& entry : engine.ports()) {
    for (const auto& queue : entry.second->rx_queues())
      lines.push_back(look_at_queue(engine, *entry.second, *queue));
  }
  return lines;
}

void QueueBoard::refresh(const Engine& engine, double now_seconds) {
  if (now_seconds < next_) return;
  next_ = now_seconds + kPeriodSeconds;
  std::vector<QueueLine> lines = look_at_queues(engine);
  const std::lock_guard guard(lock_);
  lines_.swap(lines);
}

std::vector<QueueLine> QueueBoard::lines() const {
  const std::lock_guard guard(lock_);
  return lines_;
}

}  // namespace nearpool
