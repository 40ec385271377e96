// SPDX-License-Identifier: BSD-3-Clause
// What there is to see of each RX queue, written down by the control thread a few times a second.
// Other threads read what is written, never the queues themselves, which come and go.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace nearpool {

class Engine;

struct QueueLine {
  uint16_t port = 0;
  uint16_t queue = 0;
  std::string device;
  int lcore = -1;  // -1: nobody polls it
  int lcore_node = -1;
  int port_node = -1;
  bool started = false;
  // Frames of the queue, whichever lcore counts them.
  uint64_t received = 0;
  uint64_t forwarded = 0;
  uint64_t dropped = 0;
  // Pages; all zero but owned and inflight for a stock mempool.
  std::string pool;
  uint32_t pool_id = 0;  // 0: a stock mempool
  int nid = -1;
  bool strict = false;
  int64_t quota = 0, owned = 0, foreign = 0, cached = 0, stashed = 0, ringed = 0, inflight = 0;

  // Share of owned pages that lie on the pool's node, percent.
  double local_percent() const {
    return owned == 0 ? 100.0
                      : 100.0 * static_cast<double>(owned - foreign) / static_cast<double>(owned);
  }
};

// By port, then by queue. Control thread.
std::vector<QueueLine> look_at_queues(const Engine& engine);

class QueueBoard {
 public:
  // Control thread; as often as it likes, which is not too often.
  void refresh(const Engine& engine, double now_seconds);
  // Any thread.
  std::vector<QueueLine> lines() const;

 private:
  static constexpr double kPeriodSeconds = 0.2;
  mutable std::mutex lock_;
  std::vector<QueueLine> lines_;
  double next_ = 0;
};

// The telemetry command /nearpmd/queues[,PORT[,QUEUE]]: queues from that one on, as many as one
// answer has room for. Once.
void answer_telemetry_from(const QueueBoard& board);

}  // namespace nearpool
