// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "adapter.hpp"
#include "clock.hpp"
#include "completion_queue.hpp"
#include "limits.hpp"
#include "log.hpp"
#include "receive_queue.hpp"
#include "rss_queue.hpp"
#include "send_queue.hpp"
#include "verbs_context.hpp"

namespace nearpool::connectx4 {
namespace {

// An Ethernet header and one VLAN tag come on top of the MTU.
constexpr uint32_t kHeadersAboveMtu = 18;

}  // namespace

Port::Port(PortDescription* description)
    : counters_(description->counters()),
      description_(description),
      config_(Adapter::instance().config().ports[description->index]) {
  context_block_.port = this;
  shaper_.set_rate(config_.rate);
  if (config_.loss > 0) {
    shaper_.set_loss(config_.loss, Adapter::instance().config().seed + description->index);
  }
  shaped_ = shaper_.limits_rate() || shaper_.loses();
}

Port* Port::of(ibv_context* context) {
  auto* block = reinterpret_cast<char*>(context) - offsetof(ContextBlock, verbs) -
                offsetof(verbs_context, context);
  return reinterpret_cast<ContextBlock*>(block)->port;
}

Port* Port::open(PortDescription* description) {
  std::unique_ptr<Port> port(new Port(description));
  std::string error;
  if (!port->registers_.open()) {
    log(LogLevel::kError, "%s: cannot make the doorbell page", port->name());
    return nullptr;
  }
  if (!port->netdev_.attach(description->interface, error)) {
    log(LogLevel::kError, "%s: %s", port->name(), error.c_str());
    errno = EBUSY;
    return nullptr;
  }
  port->wire_ = make_wire(*port, port->config_.wire, error);
  if (port->wire_ == nullptr) {
    log(LogLevel::kError, "%s: %s", port->name(), error.c_str());
    errno = EIO;
    return nullptr;
  }
  const int async_events = eventfd(0, EFD_CLOEXEC);
  if (async_events < 0) return nullptr;
  const std::string counter =
      std::string(description->handle.verbs.ibdev_path) + "/ports/1/hw_counters/out_of_buffer";
  if (!port->out_of_buffer_file_.open(counter)) {
    log(LogLevel::kError, "%s: cannot map %s: the counter will stay 0", port->name(),
        counter.c_str());
  }
  // Counters outlive an open port, as those of the hardware do.
  port->out_of_buffer_file_.publish(port->counters_.rx_out_of_buffer.value());
  verbs_context& verbs = port->context_block_.verbs;
  verbs.sz = sizeof verbs;
  fill_context_operations(verbs);
  verbs.context.device = &description->handle.verbs;
  verbs.context.abi_compat = reinterpret_cast<void*>(~uintptr_t{0});  // "has a verbs_context"
  verbs.context.cmd_fd = port->registers_.descriptor();
  verbs.context.async_fd = async_events;
  verbs.context.num_comp_vectors = 1;
  pthread_mutex_init(&verbs.context.mutex, nullptr);
  try {
    ControlLock lock;
    Adapter::instance().add(port.get());
  } catch (const std::system_error& failed) {
    log(LogLevel::kError, "%s: cannot start the device thread: %s", port->name(), failed.what());
    verbs.context.abi_compat = nullptr;
    pthread_mutex_destroy(&verbs.context.mutex);
    close(async_events);
    errno = failed.code().value();
    return nullptr;
  }
  Adapter::instance().refresh_links();
  log(LogLevel::kNotice, "%s: open, netdev %s, wire %s", port->name(),
      description->interface.c_str(), port->config_.wire.c_str());
  return port.release();
}

Port::~Port() {
  if (context_block_.verbs.context.abi_compat == nullptr) return;  // never came to be open
  {
    ControlLock lock;
    Adapter::instance().remove(this);
  }
  Adapter::instance().refresh_links();
  close(context_block_.verbs.context.async_fd);
  pthread_mutex_destroy(&context_block_.verbs.context.mutex);
  log(LogLevel::kNotice,
      "%s: closed: rx %llu frames, out of buffer %llu, tx %llu frames, regions left %u", name(),
      static_cast<unsigned long long>(counters_.rx.frames()),
      static_cast<unsigned long long>(counters_.rx_out_of_buffer.value()),
      static_cast<unsigned long long>(counters_.tx.frames()), regions_.count());
}

uint32_t Port::poll(FrameBatch& batch) {
  uint32_t handled = 0;
  for (SendQueue* queue : send_queues_)
    handled += queue->poll(batch);
  handled += wire_->poll(batch);
  for (CompletionQueue* queue : event_queues_)
    queue->signal_if_armed();
  return handled;
}

// How many frames of the batch the rate lets through now.
uint32_t Port::admit(FrameBatch& batch) {
  if (!shaper_.limits_rate()) return batch.count;
  shaper_.advance(now_nanoseconds());
  uint32_t count = 0;
  while (count < batch.count && shaper_.admit(batch.frames[count].length))
    ++count;
  return count;
}

void Port::mark_losses(FrameBatch& batch, LossPlan& losses) {
  if (!shaper_.loses()) return;
  for (uint32_t i = 0; i < batch.count; ++i) {
    Frame& frame = batch.frames[i];
    if (i >= losses.decided()) {
      const bool lost = !frame.lost && shaper_.lose();
      losses.decide(lost);
      if (lost) counters_.tx_lost.add(1);
    }
    frame.lost = frame.lost || losses.is_lost(i);
  }
}

uint32_t Port::transmit(FrameBatch& batch, LossPlan& losses) {
  uint32_t count = batch.count;
  if (shaped_) [[unlikely]] {
    count = admit(batch);
    mark_losses(batch, losses);
  }
  if (!link_up()) [[unlikely]] {
    counters_.tx_discards.add(count);
    losses.advance(count);
    return count;
  }
  const uint32_t sent = wire_->transmit(batch, count);
  losses.advance(sent);
  TrafficTally tally;
  for (uint32_t i = 0; i < sent; ++i) {
    const Frame& frame = batch.frames[i];
    if (frame.length != 0) tally.count(frame.head.data(), frame.length);
  }
  tally.add_to(counters_.tx);
  return sent;
}

uint32_t Port::receive(FrameBatch& batch, uint32_t first, uint32_t count) {
  // Two passes: what the first touches and the second needs is on its way meanwhile.
  const uint32_t longest = longest_frame_.load(std::memory_order_relaxed);
  const bool up = link_up();
  for (uint32_t i = first; i < count; ++i) {
    Frame& frame = batch.frames[i];
    frame.queue = nullptr;
    if (frame.lost) continue;
    if (frame.length > longest || !up) [[unlikely]] {
      (up ? counters_.rx_oversize : counters_.rx_discards).add(1);
      continue;
    }
    const Verdict verdict = steering_.classify(frame);
    if (verdict == Verdict::kQueue) {
      frame.queue->prefetch_slot();
    } else {
      (verdict == Verdict::kMiss ? counters_.rx_missed : counters_.rx_flow_drops).add(1);
    }
  }
  TrafficTally tally;
  uint32_t out_of_buffer = 0;
  uint32_t taken = first;
  const uint64_t now = now_nanoseconds();
  for (; taken < count; ++taken) {
    Frame& frame = batch.frames[taken];
    if (frame.lost) continue;
    if (frame.queue != nullptr) {
      const Delivery delivery = frame.queue->deliver(frame, now);
      if (delivery == Delivery::kNoBuffer) {
        if (config_.lossless) break;
        ++out_of_buffer;
      } else if (delivery == Delivery::kNotReady) {
        counters_.rx_discards.add(1);
      }
    }
    tally.count(frame.head.data(), frame.length);
  }
  tally.add_to(counters_.rx);
  for (uint32_t i = first; i < count; ++i) {
    if (batch.frames[i].queue != nullptr) batch.frames[i].queue->forget_prefetches();
  }
  if (out_of_buffer != 0) {
    counters_.rx_out_of_buffer.add(out_of_buffer);
    out_of_buffer_file_.publish(counters_.rx_out_of_buffer.value());
  }
  return taken;
}

bool Port::listens() const {
  return std::any_of(steering_.rules().begin(), steering_.rules().end(), [](const auto* rule) {
    return rule->verdict == Verdict::kQueue && rule->target->table()->queues.front()->ready();
  });
}

void Port::flush_failed_queues() {
  for (ReceiveQueue* queue : failed_queues_)
    queue->flush();
}

FaultTrigger Port::faults_for_next_queue(FaultSide side, uint32_t entries) {
  FaultTrigger trigger;
  if (entries <= 1) return trigger;  // the PMD makes such queues for its own ends
  std::atomic<uint32_t>& made =
      side == FaultSide::kReceive ? receive_queues_made_ : send_queues_made_;
  const uint32_t queue = made++;
  for (const Fault& fault : Adapter::instance().config().faults) {
    const bool receives = fault.kind == FaultKind::kRxError || fault.kind == FaultKind::kNoBuffer;
    const bool sends = fault.kind == FaultKind::kTxError || fault.kind == FaultKind::kTxStall;
    if (side == FaultSide::kReceive ? !receives : !sends) continue;
    if (fault.port != Fault::kAny && fault.port != description_->index) continue;
    if (fault.queue != Fault::kAny && fault.queue != queue) continue;
    trigger.add(fault);
  }
  return trigger;
}

void Port::refresh_link() {
  const bool carrier = !forced_down() && wire_->far_end_up();
  netdev_.set_carrier(carrier);
  link_up_.store(carrier && netdev_.up(), std::memory_order_relaxed);
  // A tap lets anybody set more than the card has.
  const uint32_t mtu = std::min(netdev_.mtu(), static_cast<uint32_t>(kMostMtu));
  longest_frame_.store(mtu + kHeadersAboveMtu, std::memory_order_relaxed);
}

void Port::force_link_down(bool down) {
  forced_down_.store(down, std::memory_order_relaxed);
}

}  // namespace nearpool::connectx4
