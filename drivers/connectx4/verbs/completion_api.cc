// SPDX-License-Identifier: BSD-3-Clause
// libibverbs: completion queues and the channels that tell of them.
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "../device/adapter.hpp"
#include "../device/completion_queue.hpp"
#include "../device/port.hpp"
#include "private_api.h"

using namespace nearpool::connectx4;

namespace {

CompletionQueue* create(ibv_context* context, int entries, void* user, ibv_comp_channel* channel) {
  Port* port = Port::of(context);
  CompletionQueue* queue = CompletionQueue::create(
      port, entries, channel == nullptr ? nullptr : owner_of<CompletionChannel>(channel), user);
  if (queue != nullptr && channel != nullptr) {
    ControlLock lock;
    ++channel->refcnt;
    port->add_event_queue(queue);
  }
  return queue;
}

CompletionQueue* from(ibv_cq* verbs) {
  return owner_of<CompletionQueue>(reinterpret_cast<ibv_cq_ex*>(verbs));
}

}  // namespace

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  CompletionChannel* channel = CompletionChannel::create(context);
  return channel == nullptr ? nullptr : channel->verbs();
}

int ibv_destroy_comp_channel(ibv_comp_channel* verbs) {
  if (verbs->refcnt != 0) return EBUSY;
  delete owner_of<CompletionChannel>(verbs);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* verbs, ibv_cq** queue, void** context) {
  CompletionQueue* next = owner_of<CompletionChannel>(verbs)->take();
  if (next == nullptr) return -1;
  *queue = reinterpret_cast<ibv_cq*>(next->verbs());
  *context = next->verbs()->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq*, unsigned) {
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                      int vector) {
  if (vector < 0 || vector >= context->num_comp_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  CompletionQueue* queue = create(context, entries, user, channel);
  return queue == nullptr ? nullptr : reinterpret_cast<ibv_cq*>(queue->verbs());
}

int ibv_destroy_cq(ibv_cq* verbs) {
  CompletionQueue* queue = from(verbs);
  if (queue->users != 0) return EBUSY;
  if (verbs->channel != nullptr) {
    ControlLock lock;
    --verbs->channel->refcnt;
    queue->port()->remove_event_queue(queue);
  }
  delete queue;
  return 0;
}

ibv_cq_ex* connectx4_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  constexpr uint32_t kKnownFlags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  constexpr uint64_t kKnownFields = uint64_t{IBV_WC_STANDARD_FLAGS} |
                                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN |
                                    IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO |
                                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  const bool flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if ((attributes->comp_mask & ~kKnown) != 0 ||
      (flags && (attributes->flags & ~kKnownFlags) != 0) ||
      attributes->comp_vector >= static_cast<uint32_t>(context->num_comp_vectors)) {
    errno = EINVAL;
    return nullptr;
  }
  if ((attributes->wc_flags & ~kKnownFields) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  CompletionQueue* queue = create(context, static_cast<int>(attributes->cqe),
                                  attributes->cq_context, attributes->channel);
  return queue == nullptr ? nullptr : queue->verbs();
}

void connectx4_describe_cq(ibv_cq* verbs, mlx5dv_cq* description) {
  const CompletionQueue* queue = from(verbs);
  *description = {};
  description->buf = queue->entries();
  description->dbrec = queue->doorbell();
  description->cqe_cnt = queue->count();
  description->cqe_size = kCompletionSize;
  description->cq_uar = queue->port()->registers().page();
  description->cqn = queue->number();
}

}  // extern "C"
