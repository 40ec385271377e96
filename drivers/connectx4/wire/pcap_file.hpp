// SPDX-License-Identifier: BSD-3-Clause
// Classic pcap files of Ethernet frames. Not through libpcap, because that library links to
// libibverbs itself on the systems this is for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace nearpool::connectx4 {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

// All frames of a file, in memory.
struct PcapFrames {
  struct Frame {
    size_t offset;
    uint32_t length;
  };
  std::vector<uint8_t> bytes;
  std::vector<Frame> frames;

  // Either byte order, microseconds or nanoseconds. False with a sentence.
  bool read(const std::string& path, std::string& error);
};

class PcapWriter {
 public:
  bool open(const std::string& path, std::string& error);
  // Begins a frame of `length` bytes, which add() then brings.
  void begin(uint64_t nanoseconds, uint32_t length);
  void add(const uint8_t* data, uint32_t length);
  void flush();

 private:
  File file_;
};

}  // namespace nearpool::connectx4
