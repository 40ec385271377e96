// SPDX-License-Identifier: BSD-3-Clause
// What a program holds as a queue pair: a send queue, an RSS queue, or neither (the PMD makes such
// a one to hold loopback open).
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>

#include "../device/handle.hpp"
#include "../device/rss_queue.hpp"
#include "../device/send_queue.hpp"

namespace nearpool::connectx4 {

struct QueuePair {
  Handle<ibv_qp_ex, QueuePair> handle;
  Port* port = nullptr;
  std::unique_ptr<SendQueue> send;
  std::unique_ptr<RssQueue> rss;
  std::atomic<uint32_t> users{0};  // steering rules

  static QueuePair* of(ibv_qp* verbs) {
    return owner_of<QueuePair>(reinterpret_cast<ibv_qp_ex*>(verbs));
  }
};

}  // namespace nearpool::connectx4
