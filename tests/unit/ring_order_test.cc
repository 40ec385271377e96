// SPDX-License-Identifier: BSD-3-Clause
// What travels through DPDK's inline ring is ordered, and a ThreadSanitizer build can see it:
// without config/tsan_dpdk.h and its macros this test is red there.
#include <gtest/gtest.h>
#include <rte_ring.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kSlots = 256;
constexpr int kPerProducer = 5000;
constexpr int kProducers = 2;

TEST(RingOrder, SeveralProducersOneConsumer) {
  const std::size_t bytes = static_cast<std::size_t>(rte_ring_get_memsize(kSlots));
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes), &std::free);
  auto* ring = static_cast<rte_ring*>(memory.get());
  ASSERT_EQ(rte_ring_init(ring, "order", kSlots, RING_F_SC_DEQ), 0);

  std::vector<int> values(kProducers * kPerProducer, 0);
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kPerProducer; ++i) {
        int& value = values[static_cast<std::size_t>(producer * kPerProducer + i)];
        value = 1;
        while (rte_ring_enqueue(ring, &value) != 0)
          std::this_thread::yield();
      }
    });
  }
  int sum = 0;
  for (std::size_t received = 0; received < values.size();) {
    void* value = nullptr;
    if (rte_ring_dequeue(ring, &value) != 0) {
      std::this_thread::yield();
      continue;
    }
    sum += *static_cast<int*>(value);
    ++received;
  }
  for (std::thread& producer : producers)
    producer.join();
  EXPECT_EQ(sum, kProducers * kPerProducer);
}

}  // namespace
