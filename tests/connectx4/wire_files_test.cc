// SPDX-License-Identifier: BSD-3-Clause
// What wires keep in files: the shared ring and captures; and other memory that several share.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "device/counter_file.hpp"
#include "device/queue_memory.hpp"
#include "device_frame.hpp"
#include "wire/pcap_file.hpp"
#include "wire/shm_ring.hpp"

namespace nearpool::connectx4 {
namespace {

using test::DeviceFrame;

std::vector<uint8_t> frame_bytes(uint32_t length, uint32_t seed) {
  std::vector<uint8_t> bytes(length);
  for (uint32_t i = 0; i < length; ++i)
    bytes[i] = static_cast<uint8_t>(i * 3 + seed);
  return bytes;
}

TEST(ShmRing, KeepsOrderAndContentOverTheEnd) {
  const auto shared = std::make_unique<ShmRing::Shared>();
  ShmRing writer(shared.get());
  ShmRing reader(shared.get());
  std::mt19937 random(3);
  uint32_t written = 0;
  uint32_t read = 0;
  std::vector<uint32_t> lengths;
  while (read < 5000) {
    for (uint32_t n = random() % 40; n > 0; --n) {
      const uint32_t length = 60 + random() % 9000;
      if (!writer.append(DeviceFrame(frame_bytes(length, written), {18, 40}).get())) break;
      lengths.push_back(length);
      ++written;
    }
    writer.publish();
    Segment frame{};
    uint32_t seen = 0;
    while (reader.peek(frame)) {
      const auto expected = frame_bytes(lengths[read + seen], read + seen);
      ASSERT_EQ(std::vector<uint8_t>(frame.data, frame.data + frame.length), expected);
      ++seen;
    }
    const uint32_t taken = seen == 0 ? 0 : random() % (seen + 1);
    reader.consume(taken);  // the rest is seen again
    read += taken;
  }
}

TEST(ShmRing, FullMeansNo) {
  const auto shared = std::make_unique<ShmRing::Shared>();
  ShmRing writer(shared.get());
  DeviceFrame frame(frame_bytes(9000, 1));
  uint32_t written = 0;
  while (writer.append(frame.get()))
    ++written;
  EXPECT_GT(written, ShmRing::kBytes / 9100);
  ShmRing reader(shared.get());
  Segment seen{};
  EXPECT_FALSE(reader.peek(seen)) << "not published yet";
  writer.publish();
  ASSERT_TRUE(reader.peek(seen));
  reader.consume(1);
  EXPECT_TRUE(writer.append(frame.get()));
}

TEST(ShmRing, AConfusedWriterDoesNoHarm) {
  const auto shared = std::make_unique<ShmRing::Shared>();
  std::mt19937 random(9);
  ShmRing reader(shared.get());
  for (int round = 0; round < 20000; ++round) {
    for (uint32_t i = 0; i < 4096; i += 4) {
      const uint32_t value = random() % 3 == 0 ? random() : random() % 20000;
      std::memcpy(shared->bytes + i, &value, 4);
    }
    shared->written = random() % 4 == 0 ? uint64_t{random()} << 20 : random() % 8192 / 16 * 16;
    Segment frame{};
    for (uint32_t i = 0; i < 10 && reader.peek(frame); ++i) {
      ASSERT_GE(frame.data, shared->bytes);
      ASSERT_LE(frame.data + frame.length, shared->bytes + ShmRing::kBytes);
    }
    reader.consume(0);
    if (round % 10 == 0) reader.clear();
  }
}

// Programs read a counter while the device writes it; what they see never goes back.
TEST(CounterFileTest, AReaderSeesWholeNumbers) {
  std::string path = std::filesystem::temp_directory_path() / "connectx4-XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  CounterFile counter;
  ASSERT_TRUE(counter.open(path));
  std::filesystem::remove(path);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    // From 9 to 10, 99 to 100, 999 to 1000 all the digits change.
    for (uint64_t value = 1; value < 99'000'000 && !done.load(std::memory_order_relaxed); ++value)
      counter.publish(value);
  });
  uint64_t last = 0;
  bool forward = true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (forward && std::chrono::steady_clock::now() < until) {
    char text[64] = {};
    if (pread(file, text, sizeof text - 1, 0) <= 0) break;
    const uint64_t value = std::strtoull(text, nullptr, 10);
    forward = value >= last;
    last = value;
  }
  done = true;
  writer.join();
  close(file);
  EXPECT_TRUE(forward) << "after " << last;
  EXPECT_GT(last, 0u);
}

// Any thread may make queues.
TEST(QueueMemoryTest, ThreadsDoNotShareADoorbell) {
  QueueMemory memory;
  constexpr size_t kThreads = 2;
  constexpr size_t kEach = 100'000;
  std::barrier together(kThreads);
  std::vector<std::vector<uint32_t*>> taken(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&memory, &together, &mine = taken[i]] {
      mine.reserve(kEach);
      together.arrive_and_wait();
      for (size_t n = 0; n < kEach; ++n)
        mine.push_back(memory.allocate_doorbell());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::set<uint32_t*> different;
  for (const auto& mine : taken)
    different.insert(mine.begin(), mine.end());
  EXPECT_EQ(different.size(), kThreads * kEach);
  EXPECT_FALSE(different.contains(nullptr));
}

class Capture : public ::testing::Test {
 protected:
  Capture() {
    std::string pattern = std::filesystem::temp_directory_path() / "connectx4-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~Capture() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return directory_ / name; }

  std::filesystem::path directory_;
  std::string error_;
};

TEST_F(Capture, WhatIsWrittenIsRead) {
  {
    PcapWriter writer;
    ASSERT_TRUE(writer.open(path("a.pcap"), error_)) << error_;
    for (uint32_t i = 0; i < 100; ++i) {
      const auto bytes = frame_bytes(60 + i * 90, i);
      writer.begin(i * 1000, static_cast<uint32_t>(bytes.size()));
      writer.add(bytes.data(), 20);
      writer.add(bytes.data() + 20, static_cast<uint32_t>(bytes.size()) - 20);
    }
  }
  PcapFrames frames;
  ASSERT_TRUE(frames.read(path("a.pcap"), error_)) << error_;
  ASSERT_EQ(frames.frames.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) {
    const auto expected = frame_bytes(60 + i * 90, i);
    ASSERT_EQ(frames.frames[i].length, expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           frames.bytes.begin() + static_cast<long>(frames.frames[i].offset)));
  }
}

TEST_F(Capture, BadFilesAreNamed) {
  PcapFrames frames;
  EXPECT_FALSE(frames.read(path("none.pcap"), error_));
  EXPECT_NE(error_.find("none.pcap"), std::string::npos);
  std::ofstream(path("text.pcap")) << "this is not a capture, but long enough for a header";
  EXPECT_FALSE(frames.read(path("text.pcap"), error_));
  EXPECT_NE(error_.find("not a classic pcap file"), std::string::npos);
  {
    PcapWriter writer;
    ASSERT_TRUE(writer.open(path("cut.pcap"), error_));
    writer.begin(0, 100);
    const auto bytes = frame_bytes(50, 0);
    writer.add(bytes.data(), 50);
  }
  EXPECT_FALSE(frames.read(path("cut.pcap"), error_));
  EXPECT_NE(error_.find("ends inside of frame 1"), std::string::npos);
  PcapWriter writer;
  EXPECT_FALSE(writer.open(path("no/such/directory.pcap"), error_));
}

}  // namespace
}  // namespace nearpool::connectx4
