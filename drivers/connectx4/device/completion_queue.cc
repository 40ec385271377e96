// SPDX-License-Identifier: BSD-3-Clause
#include "completion_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>

#include "port.hpp"

namespace nearpool::connectx4 {

CompletionChannel* CompletionChannel::create(ibv_context* context) {
  const int descriptor = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto* channel = new CompletionChannel;
  channel->handle_.owner = channel;
  channel->handle_.verbs.context = context;
  channel->handle_.verbs.fd = descriptor;
  return channel;
}

CompletionChannel::~CompletionChannel() {
  close(handle_.verbs.fd);
}

void CompletionChannel::post(CompletionQueue* queue) {
  {
    std::lock_guard lock(mutex_);
    pending_.push_back(queue);
  }
  const uint64_t one = 1;
  // Cannot fail: the counter would have to reach 2^64.
  [[maybe_unused]] const ssize_t written = write(handle_.verbs.fd, &one, sizeof one);
}

CompletionQueue* CompletionChannel::take() {
  for (;;) {
    uint64_t count = 0;
    if (read(handle_.verbs.fd, &count, sizeof count) != sizeof count) return nullptr;
    std::lock_guard lock(mutex_);
    if (pending_.empty()) continue;  // its queue was destroyed meanwhile
    CompletionQueue* queue = pending_.front();
    pending_.pop_front();
    return queue;
  }
}

void CompletionChannel::forget(CompletionQueue* queue) {
  std::lock_guard lock(mutex_);
  std::erase(pending_, queue);
}

CompletionQueue* CompletionQueue::create(Port* port, int entries, CompletionChannel* channel,
                                         void* context) {
  constexpr int kMost = (1 << 22) - 1;
  if (entries < 1 || entries > kMost) {
    errno = EINVAL;
    return nullptr;
  }
  const uint32_t count = std::bit_ceil(static_cast<uint32_t>(entries) + 1);
  auto* ring =
      static_cast<CompletionEntry*>(port->memory().allocate(count * sizeof(CompletionEntry)));
  uint32_t* doorbell = port->memory().allocate_doorbell();
  if (ring == nullptr || doorbell == nullptr) {
    port->memory().release(ring);
    port->memory().release_doorbell(doorbell);
    errno = ENOMEM;
    return nullptr;
  }
  for (uint32_t i = 0; i < count; ++i) {
    ring[i].opcode_owner = static_cast<uint8_t>(CompletionOpcode::kInvalid) << 4;
  }
  doorbell[kArmDoorbell] = kNeverArmed;
  auto* queue = new CompletionQueue;
  queue->entries_ = ring;
  queue->doorbell_ = doorbell;
  queue->count_ = count;
  queue->channel_ = channel;
  queue->port_ = port;
  queue->number_ = port->next_number();
  queue->handle_.owner = queue;
  queue->handle_.verbs.context = port->context();
  queue->handle_.verbs.channel = channel == nullptr ? nullptr : channel->verbs();
  queue->handle_.verbs.cq_context = context;
  queue->handle_.verbs.cqe = static_cast<int>(count) - 1;
  return queue;
}

CompletionQueue::~CompletionQueue() {
  if (channel_ != nullptr) channel_->forget(this);
  port_->memory().release(entries_);
  port_->memory().release_doorbell(doorbell_);
}

void CompletionQueue::push_error(CompletionOpcode opcode, Syndrome syndrome, uint32_t tag,
                                 uint16_t counter) {
  CompletionEntry* entry = next();
  std::memset(entry, 0, kSyndromeOffset);  // not the owner byte: the entry is not ours yet to show
  reinterpret_cast<uint8_t*>(entry)[kSyndromeOffset] = static_cast<uint8_t>(syndrome);
  publish(entry, last_word(tag, counter, opcode));
}

void CompletionQueue::signal_if_armed() {
  if (channel_ == nullptr) return;
  const uint32_t request =
      swap32(std::atomic_ref<uint32_t>(doorbell_[kArmDoorbell]).load(std::memory_order_acquire));
  uint32_t signalled = last_signalled_.load(std::memory_order_relaxed);
  if (request == kNeverArmed || request == signalled) return;
  // The request names the program's consumer index: an event is due once there is more.
  const uint32_t ahead = (producer() - request) & 0xffffff;
  if (ahead == 0 || ahead > 0x7fffff) return;
  // Several device threads may look at once, and one event is due.
  if (last_signalled_.compare_exchange_strong(signalled, request, std::memory_order_relaxed)) {
    channel_->post(this);
  }
}

}  // namespace nearpool::connectx4
