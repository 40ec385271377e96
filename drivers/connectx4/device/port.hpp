// SPDX-License-Identifier: BSD-3-Clause
// One port of the device: what a program opens. It owns the objects that all its queues share, and
// joins its queues with its wire.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counter_file.hpp"
#include "counters.hpp"
#include "doorbell_registers.hpp"
#include "fault.hpp"
#include "frame.hpp"
#include "memory_region.hpp"
#include "netdev.hpp"
#include "port_description.hpp"
#include "queue_memory.hpp"
#include "run_config.hpp"
#include "shaper.hpp"
#include "steering.hpp"
#include "wire.hpp"

namespace nearpool::connectx4 {

class CompletionQueue;
class ReceiveQueue;
class SendQueue;

class Port {
 public:
  // Null with errno, and a line in the log, when the netdev or the wire cannot be had.
  static Port* open(PortDescription* description);
  ~Port();

  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // ---- device threads ----

  // The port's own thread: sends what is posted, and delivers what its wire brings. Returns the
  // frames handled. `batch` is scratch memory of the thread.
  uint32_t poll(FrameBatch& batch);
  // Takes the frames of the batch in order; the result is less than batch.count when the wire
  // pushes back. `losses` is the sending queue's.
  uint32_t transmit(FrameBatch& batch, LossPlan& losses);
  // Frames [first, count) of the batch arrive. Returns the index of the first frame that was not
  // taken, which is less than `count` only on a lossless port without buffers.
  uint32_t receive(FrameBatch& batch, uint32_t first, uint32_t count);

  // Whether a rule leads to a queue that is ready. Any device thread.
  bool listens() const;
  // Goes on with the errors of failed receive queues. The thread that delivers to the port.
  void flush_failed_queues();
  void add_failed_queue(ReceiveQueue* queue) { failed_queues_.push_back(queue); }

  // ---- any thread ----

  bool link_up() const { return link_up_.load(std::memory_order_relaxed); }
  const char* name() const { return description_->handle.verbs.name; }
  PortDescription* description() const { return description_; }
  const PortConfig& config() const { return config_; }
  PortCounters& counters() const { return counters_; }
  ibv_context* context() { return &context_block_.verbs.context; }
  const DoorbellRegisters& registers() const { return registers_; }

  // ---- control; where a device thread reads it, under ControlLock ----

  static Port* of(ibv_context* context);
  QueueMemory& memory() { return memory_; }
  RegionTable& regions() { return regions_; }
  SteeringTable& steering() { return steering_; }
  Netdev& netdev() { return netdev_; }
  Wire& wire() { return *wire_; }

  void add_send_queue(SendQueue* queue) { send_queues_.push_back(queue); }
  void remove_send_queue(SendQueue* queue) { std::erase(send_queues_, queue); }
  void add_event_queue(CompletionQueue* queue) { event_queues_.push_back(queue); }
  void remove_event_queue(CompletionQueue* queue) { std::erase(event_queues_, queue); }

  void remove_failed_queue(ReceiveQueue* queue) { std::erase(failed_queues_, queue); }

  uint32_t next_number() { return next_number_++; }
  void* next_doorbell_register() { return registers_.next(); }
  // The faults that the run's options give to the queue about to be made.
  FaultTrigger faults_for_next_queue(FaultSide side, uint32_t entries);

  // Asks the netdev how it is, and applies it. `forced_down` is a flap.
  void refresh_link();
  void force_link_down(bool down);
  bool forced_down() const { return forced_down_.load(std::memory_order_relaxed); }
  bool administratively_up() const { return netdev_.up(); }

 private:
  // The verbs context must be the last member of its structure, and ours is found from it.
  struct ContextBlock {
    Port* port = nullptr;
    verbs_context verbs{};
  };

  explicit Port(PortDescription* description);
  uint32_t admit(FrameBatch& batch);
  void mark_losses(FrameBatch& batch, LossPlan& losses);

  // Read by device threads for each batch.
  std::vector<SendQueue*> send_queues_;
  std::vector<CompletionQueue*> event_queues_;
  std::vector<ReceiveQueue*> failed_queues_;
  std::unique_ptr<Wire> wire_;
  // Written by the link monitor; a batch more or less on the old state is what a real link has too.
  std::atomic<bool> link_up_{true};
  std::atomic<uint32_t> longest_frame_{1518};
  bool shaped_ = false;
  Shaper shaper_;
  SteeringTable steering_;
  RegionTable regions_;
  PortCounters& counters_;
  CounterFile out_of_buffer_file_;

  PortDescription* description_;
  PortConfig config_;
  Netdev netdev_;
  QueueMemory memory_;
  DoorbellRegisters registers_;
  std::atomic<bool> forced_down_{false};
  // Counts by themselves: any thread may make queues.
  std::atomic<uint32_t> next_number_{0x100};
  std::atomic<uint32_t> receive_queues_made_{0};
  std::atomic<uint32_t> send_queues_made_{0};
  ContextBlock context_block_;
};

}  // namespace nearpool::connectx4
