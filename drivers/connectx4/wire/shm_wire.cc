// SPDX-License-Identifier: BSD-3-Clause
#include "shm_wire.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../device/adapter.hpp"
#include "../device/port.hpp"
#include "frame_source.hpp"

namespace nearpool::connectx4 {

struct ShmWire::Shared {
  ShmRing::Shared ring[2];  // ring i: written by end i
};

std::unique_ptr<Wire> ShmWire::open(Port& port, const std::string& name, std::string& error) {
  // Beside the runs' directories, so that several runs meet there.
  const std::string& run = Adapter::instance().config().directory;
  const std::string directory = run.substr(0, run.rfind('/')) + "/wires";
  const std::string path = directory + "/" + name;
  mkdir(directory.c_str(), 0755);
  // The launcher removes wires that nobody holds, and locks the directory meanwhile.
  const int guard = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (guard >= 0) flock(guard, LOCK_EX);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  int lock = -1;
  uint32_t end = 0;
  for (; file >= 0 && end < 2; ++end) {
    lock =
        ::open((path + ".end" + std::to_string(end)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) break;
    if (lock >= 0) close(lock);
    lock = -1;
  }
  if (guard >= 0) close(guard);
  void* memory = MAP_FAILED;
  if (lock >= 0 && ftruncate(file, sizeof(Shared)) == 0) {
    memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory == MAP_FAILED) {
    error = file >= 0 && lock < 0
                ? "wire shm:" + name + ": both ends are taken"
                : "wire shm:" + name + ": cannot map " + path + ": " + std::strerror(errno);
    if (lock >= 0) close(lock);
    if (file >= 0) close(file);
    return nullptr;
  }
  return std::unique_ptr<Wire>(new ShmWire(port, static_cast<Shared*>(memory), file, lock, end));
}

ShmWire::ShmWire(Port& port, Shared* shared, int file, int lock, uint32_t end)
    : port_(port),
      shared_(shared),
      file_(file),
      lock_(lock),
      out_(&shared->ring[end]),
      in_(&shared->ring[1 - end]) {
  // Frames sent before this end was plugged in never arrive.
  in_.clear();
}

ShmWire::~ShmWire() {
  munmap(shared_, sizeof(Shared));
  close(lock_);
  close(file_);
}

uint32_t ShmWire::transmit(FrameBatch& batch, uint32_t count) {
  uint32_t sent = 0;
  for (; sent < count; ++sent) {
    if (batch.frames[sent].lost) continue;
    // A full ring loses frames, as a slow receiver behind a real cable does, unless this port
    // waits.
    if (!out_.append(batch.frames[sent]) && port_.config().lossless) break;
  }
  out_.publish();
  return sent;
}

uint32_t ShmWire::poll(FrameBatch& batch) {
  port_.flush_failed_queues();
  batch.count = 0;
  Segment frame{};
  while (batch.count < kBatchFrames && in_.peek(frame)) {
    add_whole_frame(batch, frame.data, frame.length);
  }
  if (batch.count == 0) return 0;
  const uint32_t taken = port_.receive(batch, 0, batch.count);
  in_.consume(taken);
  return taken;
}

}  // namespace nearpool::connectx4
