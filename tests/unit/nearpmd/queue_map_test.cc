// SPDX-License-Identifier: BSD-3-Clause
#include "control/queue_map.hpp"

#include <gtest/gtest.h>

namespace nearpool {
namespace {

using Lcores = std::vector<LcorePlace>;
using Queues = std::vector<QueuePlace>;

TEST(AssignQueues, EvenlyWhereNodesAreUnknown) {
  const Queues queues{{{0, 0}}, {{0, 1}}, {{1, 0}}, {{1, 1}}};
  EXPECT_EQ(assign_queues(queues, Lcores{{1, 0}, {2, 0}}), (std::vector<unsigned>{1, 2, 1, 2}));
}

TEST(AssignQueues, OnTheNodeOfThePort) {
  const Queues queues{{{0, 0}, 1}, {{0, 1}, 1}, {{1, 0}, 0}};
  EXPECT_EQ(assign_queues(queues, Lcores{{1, 0}, {2, 1}, {3, 0}}),
            (std::vector<unsigned>{2, 2, 1}));
}

TEST(AssignQueues, FromAnotherNodeRatherThanNotAtAll) {
  const Queues queues{{{0, 0}, 3}, {{1, 0}, 0}};
  const Lcores lcores{{1, 0}, {2, 1}};
  EXPECT_EQ(assign_queues(queues, lcores), (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(ports_without_near_lcore(queues, lcores), (std::vector<uint16_t>{0}));
}

TEST(PortsWithoutNearLcore, EachOnceAndOnlyKnownNodes) {
  const Queues queues{{{0, 0}, 8}, {{0, 1}, 8}, {{1, 0}, kUnknownNode}, {{2, 0}, 0}};
  EXPECT_EQ(ports_without_near_lcore(queues, Lcores{{1, 0}}), (std::vector<uint16_t>{0}));
}

TEST(PeerOf, Topologies) {
  const std::vector<uint16_t> ports{0, 1, 3};
  EXPECT_EQ(peer_of(ports, 0, Topology::kPaired), 1);
  EXPECT_EQ(peer_of(ports, 1, Topology::kPaired), 0);
  EXPECT_EQ(peer_of(ports, 3, Topology::kPaired), 3);  // the odd one
  EXPECT_EQ(peer_of(ports, 0, Topology::kChained), 1);
  EXPECT_EQ(peer_of(ports, 1, Topology::kChained), 3);
  EXPECT_EQ(peer_of(ports, 3, Topology::kChained), 0);
  EXPECT_EQ(peer_of(ports, 1, Topology::kLoop), 1);
}

TEST(TransmitterOf, TheNextLcoreRoundTheList) {
  const Lcores lcores{{1, 0}, {4, 0}, {7, 0}};
  EXPECT_EQ(transmitter_of(lcores, 1), 4u);
  EXPECT_EQ(transmitter_of(lcores, 7), 1u);
  EXPECT_EQ(transmitter_of(Lcores{{5, 0}}, 5), 5u);
}

}  // namespace
}  // namespace nearpool
