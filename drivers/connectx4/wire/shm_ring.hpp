// SPDX-License-Identifier: BSD-3-Clause
// One direction of a wire between two processes: a ring of frames in shared memory with one writer
// and one reader. The other process is not trusted to keep its indices and lengths sane.
#pragma once

#include <atomic>
#include <cstdint>

#include "../device/frame.hpp"

namespace nearpool::connectx4 {

class ShmRing {
 public:
  static constexpr uint32_t kBytes = 1u << 20;  // a power of two

  // As it lies in the shared file, zeroed when empty.
  struct Shared {
    // Bytes ever written and read. Each side's release pairs with the other's acquire.
    alignas(kCacheLine) std::atomic<uint64_t> written;
    alignas(kCacheLine) std::atomic<uint64_t> read;
    alignas(kCacheLine) uint8_t bytes[kBytes];
  };

  explicit ShmRing(Shared* shared) : shared_(shared) {}

  // ---- writer ----

  // False when there is no room. Visible to the reader only after publish().
  bool append(const Frame& frame);
  void publish();

  // ---- reader ----

  // The next frame behind those peeked at already; false when there is none.
  bool peek(Segment& frame);
  // Gives back the first `frames` of those peeked at, and forgets the rest: they are peeked at
  // again.
  void consume(uint32_t frames);
  // Gives back all there is.
  void clear();

 private:
  struct RecordHeader {
    uint32_t length;  // kSkip: nothing more up to the ring's end
    uint32_t reserved;
  };
  static constexpr uint32_t kSkip = ~0u;
  static constexpr uint32_t kAlignment = 16;

  Shared* shared_;
  uint64_t written_ = 0;  // writer: up to here, published or not
  bool writer_started_ = false;
  uint64_t read_seen_ = 0;  // writer: as last looked at
  uint64_t peeked_ = 0;     // reader
  bool reader_started_ = false;
  uint64_t written_seen_ = 0;
  uint32_t ends_count_ = 0;
  uint64_t ends_[kBatchFrames] = {};  // where the frames peeked at end
};

}  // namespace nearpool::connectx4
