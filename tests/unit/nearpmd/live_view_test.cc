// SPDX-License-Identifier: BSD-3-Clause
#include "control/live_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nearpool {
namespace {

QueueLine queue(uint16_t port, uint16_t queue, uint64_t received) {
  QueueLine line;
  line.port = port;
  line.queue = queue;
  line.lcore = 2;
  line.lcore_node = 1;
  line.received = received;
  line.forwarded = received / 2;
  line.quota = 1000;
  line.owned = 500;
  line.foreign = 125;
  line.cached = 100;
  line.stashed = 20;
  line.ringed = 3;
  line.inflight = 377;
  return line;
}

size_t lines_in(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(LiveView, PipedItIsALineForEachQueue) {
  LiveView view;
  view.next({queue(0, 0, 1000), queue(0, 1, 0)}, 10, 0);
  const std::string text = view.next({queue(0, 0, 5000), queue(0, 1, 0)}, 12, 0);
  EXPECT_EQ(lines_in(text), 2u);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(text.find("port 0 queue 0: lcore@node 2@1, rx 2000/s, forwarded 1000/s, dropped 0/s, "
                      "local 75.0%, owned 500 (50% of quota) = cached 100 + stashed 20 + ringed 3 "
                      "+ inflight 377\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("port 0 queue 1: lcore@node 2@1, rx 0/s"), std::string::npos) << text;
}

TEST(LiveView, OnATerminalTheTableTakesThePlaceOfTheOneBefore) {
  LiveView view;
  const std::vector<QueueLine> lines = {queue(0, 0, 0), queue(3, 17, 0)};
  const std::string first = view.next(lines, 1, 24);
  EXPECT_EQ(first.find('\033'), std::string::npos);  // nothing to redraw yet
  EXPECT_EQ(lines_in(first), 3u);
  auto moved = lines;
  moved[1].received = 29'760'000;
  const std::string second = view.next(moved, 3, 24);
  EXPECT_EQ(second.rfind("\033[3F\033[J", 0), 0u) << second;
  EXPECT_NE(second.find("14.88M"), std::string::npos) << second;
  EXPECT_NE(second.find("75.0%"), std::string::npos) << second;
  // Fewer queues: the next one goes back over all that was drawn.
  view.next({queue(0, 0, 0)}, 4, 24);
  EXPECT_EQ(view.next({queue(0, 0, 0)}, 5, 24).rfind("\033[2F\033[J", 0), 0u);
}

TEST(LiveView, ATableNeverIsHigherThanTheTerminal) {
  std::vector<QueueLine> lines;
  for (uint16_t i = 0; i < 100; i++)
    lines.push_back(queue(i, 0, 0));
  for (const unsigned rows : {1u, 5u, 24u, 50u}) {
    LiveView view;
    const std::string text = view.next(lines, 1, rows);
    EXPECT_LE(lines_in(text), std::max(rows, 4u) - 1) << rows;
    EXPECT_NE(text.find("queues more"), std::string::npos) << rows;
  }
}

TEST(LiveView, AQueueSetUpAnewHasNoNegativeRate) {
  LiveView view;
  view.next({queue(0, 0, 1000)}, 1, 0);
  EXPECT_NE(view.next({queue(0, 0, 10)}, 2, 0).find("rx 0/s"), std::string::npos);
}

}  // namespace
}  // namespace nearpool
