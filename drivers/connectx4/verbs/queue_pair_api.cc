// SPDX-License-Identifier: BSD-3-Clause
// libibverbs: queue pairs.
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>

#include "../device/adapter.hpp"
#include "operations.hpp"
#include "private_api.h"
#include "queue_pair.hpp"

namespace nearpool::connectx4 {
namespace {

// 0 or an errno value.
int make_rss(QueuePair& pair, const ibv_qp_init_attr_ex& attributes) {
  const ibv_rx_hash_conf& hash = attributes.rx_hash_conf;
  if ((attributes.comp_mask & IBV_QP_INIT_ATTR_RX_HASH) == 0 || attributes.rwq_ind_tbl == nullptr) {
    return EINVAL;
  }
  const uint64_t fields = hash.rx_hash_fields_mask;
  if (hash.rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
      (fields & ~RssQueue::kSupportedFields) != 0) {
    return EOPNOTSUPP;
  }
  auto* table = owner_of<IndirectionTable>(attributes.rwq_ind_tbl);
  if (hash.rx_hash_key_len != Toeplitz::kKeyBytes || (fields == 0 && table->queues.size() > 1)) {
    return EINVAL;
  }
  // A hash is of one kind of packet.
  constexpr uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
  constexpr uint64_t kIpv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
  constexpr uint64_t kTcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
  constexpr uint64_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
  if (((fields & kIpv4) != 0 && (fields & kIpv6) != 0) ||
      ((fields & kTcp) != 0 && (fields & kUdp) != 0)) {
    return EINVAL;
  }
  ++table->users;
  pair.rss = std::make_unique<RssQueue>(table, hash.rx_hash_key, hash.rx_hash_fields_mask);
  return 0;
}

bool has_send_side(const ibv_qp_init_attr_ex& attributes) {
  return attributes.cap.max_send_wr != 0;
}

bool may_follow(ibv_qp_state from, ibv_qp_state to) {
  switch (to) {
    case IBV_QPS_RESET:
    case IBV_QPS_ERR:
      return true;
    case IBV_QPS_INIT:
      return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
    case IBV_QPS_RTR:
      return from == IBV_QPS_INIT;
    case IBV_QPS_RTS:
      return from == IBV_QPS_RTR || from == IBV_QPS_RTS;
    default:
      return false;  // drained queues are not offered
  }
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return connectx4_create_qp(context, attributes);
}

}  // namespace nearpool::connectx4

using namespace nearpool::connectx4;

extern "C" {

ibv_qp* connectx4_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  constexpr uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  if (attributes->qp_type != IBV_QPT_RAW_PACKET || (attributes->comp_mask & ~kKnown) != 0) {
    errno = EOPNOTSUPP;  // segmentation headers, creation flags
    return nullptr;
  }
  if (attributes->pd == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  auto pair = std::make_unique<QueuePair>();
  Port* port = Port::of(context);
  pair->port = port;
  pair->handle.owner = pair.get();
  ibv_qp& verbs = pair->handle.verbs.qp_base;
  verbs.context = context;
  verbs.qp_context = attributes->qp_context;
  verbs.pd = attributes->pd;
  verbs.send_cq = attributes->send_cq;
  verbs.recv_cq = attributes->recv_cq;
  verbs.qp_type = attributes->qp_type;
  verbs.qp_num = port->next_number();
  verbs.state = IBV_QPS_RESET;
  if ((attributes->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) != 0) {
    const int error = make_rss(*pair, *attributes);
    if (error != 0) {
      errno = error;
      return nullptr;
    }
  } else if (has_send_side(*attributes)) {
    pair->send.reset(SendQueue::create(port, *attributes, verbs.qp_num));
    if (pair->send == nullptr) return nullptr;
    attributes->cap.max_inline_data = SendQueue::inline_room(attributes->cap);
    ControlLock lock;
    port->add_send_queue(pair->send.get());
  }
  ++owner_of<ProtectionDomain>(attributes->pd)->users;
  return &pair.release()->handle.verbs.qp_base;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attributes->qp_context;
  extended.send_cq = attributes->send_cq;
  extended.recv_cq = attributes->recv_cq;
  extended.cap = attributes->cap;
  extended.qp_type = attributes->qp_type;
  extended.sq_sig_all = attributes->sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = domain;
  ibv_qp* queue = connectx4_create_qp(domain->context, &extended);
  attributes->cap = extended.cap;
  return queue;
}

int ibv_modify_qp(ibv_qp* verbs, ibv_qp_attr* attributes, int mask) {
  QueuePair* pair = QueuePair::of(verbs);
  if ((mask & IBV_QP_PORT) != 0 && attributes->port_num != 1) return errno = EINVAL;
  if ((mask & IBV_QP_STATE) == 0) return 0;
  ControlLock lock;
  if (!may_follow(verbs->state, attributes->qp_state)) return errno = EINVAL;
  verbs->state = attributes->qp_state;
  if (pair->send == nullptr) return 0;
  switch (attributes->qp_state) {
    case IBV_QPS_RESET:
      pair->send->reset();
      break;
    case IBV_QPS_RTS:
      pair->send->set_ready(true);
      break;
    case IBV_QPS_ERR:
      pair->send->set_error();
      break;
    default:
      pair->send->set_ready(false);
      break;
  }
  return 0;
}

int ibv_destroy_qp(ibv_qp* verbs) {
  std::unique_ptr<QueuePair> pair(QueuePair::of(verbs));
  if (pair->users != 0) {
    pair.release();
    return EBUSY;
  }
  --owner_of<ProtectionDomain>(verbs->pd)->users;
  if (pair->send != nullptr) {
    ControlLock lock;
    pair->port->remove_send_queue(pair->send.get());
  }
  if (pair->rss != nullptr) --pair->rss->table()->users;
  return 0;
}

void connectx4_describe_qp(ibv_qp* verbs, mlx5dv_qp* description) {
  const uint64_t wanted = description->comp_mask;
  const QueuePair* pair = QueuePair::of(verbs);
  *description = {};
  if (pair->send != nullptr) {
    description->dbrec = pair->send->doorbell();
    description->sq.buf = pair->send->ring();
    description->sq.wqe_cnt = pair->send->units();
    description->sq.stride = kWqeUnit;
    description->bf.reg = pair->send->doorbell_register();
    // 0: the register is for doorbells only, entries are not written through it.
    description->bf.size = 0;
  }
  if ((wanted & MLX5DV_QP_MASK_UAR_MMAP_OFFSET) != 0) {
    description->comp_mask |= MLX5DV_QP_MASK_UAR_MMAP_OFFSET;
    description->uar_mmap_offset = DoorbellRegisters::kMapOffset;
  }
}

}  // extern "C"
