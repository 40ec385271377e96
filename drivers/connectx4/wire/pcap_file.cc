// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_file.hpp"

#include <cerrno>
#include <cstring>

#include "../device/byte_order.hpp"
#include "../device/clock.hpp"
#include "../device/send_entry.hpp"

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr uint32_t kLinkEthernet = 1;

struct FileHeader {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t zone;
  uint32_t accuracy;
  uint32_t longest;
  uint32_t link;
};
struct FrameHeader {
  uint32_t seconds;
  uint32_t fraction;
  uint32_t captured;
  uint32_t length;
};

}  // namespace

bool PcapFrames::read(const std::string& path, std::string& error) {
  File file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    error = "cannot read the pcap file " + path + ": " + std::strerror(errno);
    return false;
  }
  FileHeader header{};
  const bool complete = std::fread(&header, sizeof header, 1, file.get()) == 1;
  const bool swapped =
      header.magic == swap32(kMagicMicroseconds) || header.magic == swap32(kMagicNanoseconds);
  const auto number = [swapped](uint32_t value) { return swapped ? swap32(value) : value; };
  if (!complete ||
      (!swapped && header.magic != kMagicMicroseconds && header.magic != kMagicNanoseconds) ||
      number(header.link) != kLinkEthernet) {
    error = path +
            " is not a classic pcap file of Ethernet frames (pcapng: convert it with editcap -F "
            "pcap)";
    return false;
  }
  FrameHeader frame{};
  while (std::fread(&frame, sizeof frame, 1, file.get()) == 1) {
    const uint32_t length = number(frame.captured);
    if (length < kLeastFrameLength || length > kMostFrameLength) {
      error = path + ": frame " + std::to_string(frames.size() + 1) + " has " +
              std::to_string(length) + " bytes: must be " + std::to_string(kLeastFrameLength) +
              " to " + std::to_string(kMostFrameLength);
      return false;
    }
    const size_t offset = bytes.size();
    bytes.resize(offset + length);
    if (std::fread(bytes.data() + offset, length, 1, file.get()) != 1) {
      error = path + " ends inside of frame " + std::to_string(frames.size() + 1);
      return false;
    }
    frames.push_back({offset, length});
  }
  return true;
}

bool PcapWriter::open(const std::string& path, std::string& error) {
  file_.reset(std::fopen(path.c_str(), "wbe"));
  if (file_ == nullptr) {
    error = "cannot write the pcap file " + path + ": " + std::strerror(errno);
    return false;
  }
  const FileHeader header{kMagicNanoseconds, 2, 4, 0, 0, kMostFrameLength, kLinkEthernet};
  std::fwrite(&header, sizeof header, 1, file_.get());
  return true;
}

void PcapWriter::begin(uint64_t nanoseconds, uint32_t length) {
  const FrameHeader header{static_cast<uint32_t>(nanoseconds / kNanosecondsPerSecond),
                           static_cast<uint32_t>(nanoseconds % kNanosecondsPerSecond), length,
                           length};
  std::fwrite(&header, sizeof header, 1, file_.get());
}

void PcapWriter::add(const uint8_t* data, uint32_t length) {
  std::fwrite(data, length, 1, file_.get());
}

void PcapWriter::flush() {
  if (file_ != nullptr) std::fflush(file_.get());
}

}  // namespace nearpool::connectx4
