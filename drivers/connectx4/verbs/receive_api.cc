// SPDX-License-Identifier: BSD-3-Clause
// libibverbs: receive queues and the indirection tables that name them.
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "../device/adapter.hpp"
#include "../device/limits.hpp"
#include "../device/receive_queue.hpp"
#include "../device/rss_queue.hpp"
#include "operations.hpp"
#include "private_api.h"

namespace nearpool::connectx4 {

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes) {
  return connectx4_create_wq(context, attributes, 0, 0);
}

int modify_wq(ibv_wq* verbs, ibv_wq_attr* attributes) {
  ControlLock lock;
  const int error = owner_of<ReceiveQueue>(verbs)->modify(*attributes);
  if (error != 0) errno = error;
  return error;
}

int destroy_wq(ibv_wq* verbs) {
  auto* queue = owner_of<ReceiveQueue>(verbs);
  if (queue->users != 0) return EBUSY;
  {
    ControlLock lock;
    queue->port()->remove_failed_queue(queue);
  }
  delete queue;
  return 0;
}

ibv_rwq_ind_table* create_indirection_table(ibv_context* context,
                                            ibv_rwq_ind_table_init_attr* attributes) {
  const uint64_t count = uint64_t{1} << attributes->log_ind_tbl_size;
  if (attributes->log_ind_tbl_size > 31 || count > kMostIndirectionEntries) {
    errno = EINVAL;
    return nullptr;
  }
  auto* table = new IndirectionTable;
  table->port = Port::of(context);
  table->handle.owner = table;
  table->handle.verbs.context = context;
  table->handle.verbs.ind_tbl_num = static_cast<int>(table->port->next_number());
  for (uint64_t i = 0; i < count; ++i) {
    auto* queue = owner_of<ReceiveQueue>(attributes->ind_tbl[i]);
    ++queue->users;
    table->queues.push_back(queue);
  }
  return &table->handle.verbs;
}

int destroy_indirection_table(ibv_rwq_ind_table* verbs) {
  auto* table = owner_of<IndirectionTable>(verbs);
  if (table->users != 0) return EBUSY;
  for (ReceiveQueue* queue : table->queues)
    --queue->users;
  delete table;
  return 0;
}

}  // namespace nearpool::connectx4

using namespace nearpool::connectx4;

extern "C" {

ibv_wq* connectx4_create_wq(ibv_context* context, ibv_wq_init_attr* attributes,
                            uint32_t log_stride_bytes, uint32_t log_strides) {
  if (log_strides != 0) {
    if (!Adapter::instance().config().multi_packet) {
      errno = EOPNOTSUPP;
      return nullptr;
    }
    if (log_stride_bytes < kLeastLogStrideBytes || log_stride_bytes > kMostLogStrideBytes ||
        log_strides < kLeastLogStrides || log_strides > kMostLogStrides) {
      errno = EINVAL;
      return nullptr;
    }
  }
  ReceiveQueue* queue =
      ReceiveQueue::create(Port::of(context), attributes, {log_stride_bytes, log_strides});
  return queue == nullptr ? nullptr : queue->verbs();
}

void connectx4_describe_rwq(ibv_wq* verbs, mlx5dv_rwq* description) {
  const auto* queue = owner_of<ReceiveQueue>(verbs);
  *description = {};
  description->buf = queue->ring();
  description->dbrec = queue->doorbell();
  description->wqe_cnt = queue->entry_count();
  description->stride = queue->entry_size();
}

}  // extern "C"
