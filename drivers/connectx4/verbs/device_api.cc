// SPDX-License-Identifier: BSD-3-Clause
// libibverbs: devices, and what they say about themselves.
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../device/adapter.hpp"
#include "../device/clock.hpp"
#include "../device/limits.hpp"
#include "../device/netdev_requests.hpp"
#include "../device/rss_queue.hpp"
#include "operations.hpp"
#include "private_api.h"

#undef ibv_query_port

namespace nearpool::connectx4 {
namespace {

void fill_attributes(ibv_device_attr& attributes) {
  attributes = {};
  std::snprintf(attributes.fw_ver, sizeof attributes.fw_ver, "%s", kFirmwareVersion);
  attributes.max_mr_size = ~uint64_t{0};
  attributes.page_size_cap = ~uint64_t{0xfff};
  attributes.vendor_id = kVendorId;
  attributes.vendor_part_id = kVendorPart;
  attributes.max_qp = 1 << 18;
  attributes.max_qp_wr = kMostSendEntries;
  attributes.device_cap_flags = IBV_DEVICE_RAW_IP_CSUM;
  attributes.max_sge = kMostSendSegments;
  attributes.max_sge_rd = kMostSendSegments;
  attributes.max_cq = 1 << 24;
  attributes.max_cqe = kMostCompletions;
  attributes.max_mr = 1 << 24;
  attributes.max_pd = 1 << 24;
  attributes.max_ah = INT32_MAX;
  attributes.phys_port_cnt = 1;
}

int query_device_ex(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes,
                    size_t size) {
  ibv_device_attr_ex all{};
  fill_attributes(all.orig_attr);
  all.completion_timestamp_mask = ~uint64_t{0};
  all.hca_core_clock = 1'000'000;  // kHz: timestamps are nanoseconds
  all.device_cap_flags_ex = IBV_DEVICE_RAW_IP_CSUM;
  all.rss_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
  all.rss_caps.max_rwq_indirection_tables = 1u << 20;
  all.rss_caps.max_rwq_indirection_table_size = kMostIndirectionEntries;
  all.rss_caps.rx_hash_fields_mask = RssQueue::kSupportedFields;
  all.rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  all.max_wq_type_rq = 1u << 23;
  all.raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM;
  all.phys_port_cnt_ex = 1;
  std::memcpy(attributes, &all, std::min(size, sizeof all));
  return 0;
}

int query_port(ibv_context* context, uint8_t number, ibv_port_attr* attributes, size_t size) {
  if (number != 1) return EINVAL;
  constexpr uint8_t kLinkUp = 5;
  constexpr uint8_t kPollingLink = 2;
  constexpr uint8_t kFourLanes = 2;
  constexpr uint8_t k25GigabitLane = 32;
  const bool up = Port::of(context)->link_up();
  ibv_port_attr all{};
  // A port of the device exists for as long as it is plugged in: the PMD takes no port that is not
  // active, and asks the netdev for the link.
  all.state = IBV_PORT_ACTIVE;
  all.max_mtu = IBV_MTU_4096;
  all.active_mtu = IBV_MTU_1024;
  all.active_width = kFourLanes;
  all.active_speed = k25GigabitLane;
  all.phys_state = up ? kLinkUp : kPollingLink;
  all.link_layer = IBV_LINK_LAYER_ETHERNET;
  std::memcpy(attributes, &all, std::min(size, sizeof all));
  return 0;
}

int query_real_time(ibv_context*, ibv_values_ex* values) {
  if ((values->comp_mask & ~static_cast<uint32_t>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) return EINVAL;
  values->raw_clock = {0, static_cast<long>(now_nanoseconds())};
  return 0;
}

// Device threads must not look at the program's memory while the process takes itself apart.
[[gnu::destructor]] void stop_at_exit() {
  Adapter::halt();
}

}  // namespace

void fill_context_operations(verbs_context& context) {
  context.query_device_ex = query_device_ex;
  context.query_port = query_port;
  context.query_rt_values = query_real_time;
  context.create_wq = create_wq;
  context.modify_wq = modify_wq;
  context.destroy_wq = destroy_wq;
  context.create_rwq_ind_table = create_indirection_table;
  context.destroy_rwq_ind_table = destroy_indirection_table;
  context.create_qp_ex = create_qp_ex;
  context.ibv_create_flow = create_flow;
  context.ibv_destroy_flow = destroy_flow;
}

}  // namespace nearpool::connectx4

using namespace nearpool::connectx4;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  install_netdev_answers();
  auto& descriptions = Adapter::instance().descriptions();
  auto** list =
      static_cast<ibv_device**>(std::calloc(descriptions.size() + 1, sizeof(ibv_device*)));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < descriptions.size(); ++i)
    list[i] = &descriptions[i]->handle.verbs;
  if (count != nullptr) *count = static_cast<int>(descriptions.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

__be64 ibv_get_device_guid(ibv_device*) {
  return 0;
}

const char* ibv_node_type_str(enum ibv_node_type type) {
  return type == IBV_NODE_CA ? "InfiniBand channel adapter" : "unknown";
}

const char* ibv_port_state_str(enum ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "PORT_DOWN";
    case IBV_PORT_INIT:
      return "PORT_INIT";
    case IBV_PORT_ARMED:
      return "PORT_ARMED";
    case IBV_PORT_ACTIVE:
      return "PORT_ACTIVE";
    case IBV_PORT_ACTIVE_DEFER:
      return "PORT_ACTIVE_DEFER";
    default:
      return "invalid state";
  }
}

int ibv_fork_init(void) {
  return 0;
}
enum ibv_fork_status ibv_is_fork_initialized(void) {
  return IBV_FORK_UNNEEDED;
}

ibv_context* ibv_open_device(ibv_device* device) {
  try {
    Port* port = Port::open(owner_of<PortDescription>(device));
    return port == nullptr ? nullptr : port->context();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

int ibv_close_device(ibv_context* context) {
  delete Port::of(context);
  return 0;
}

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  fill_attributes(*attributes);
  return 0;
}

int ibv_query_port(ibv_context* context, uint8_t number, struct _compat_ibv_port_attr* attributes) {
  // The old structure is the beginning of today's.
  constexpr size_t kOldSize = offsetof(ibv_port_attr, flags) + sizeof(uint8_t);
  return query_port(context, number, reinterpret_cast<ibv_port_attr*>(attributes), kOldSize);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event*) {
  // None ever comes: link changes are the netdev's to tell. Blocks as the real call does.
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(context->async_fd, &count, sizeof count);
  return -1;
}

void ibv_ack_async_event(ibv_async_event*) {
}

int connectx4_query_device(ibv_context*, mlx5dv_context* attributes) {
  const uint64_t wanted = attributes->comp_mask;
  attributes->version = 0;
  attributes->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;
  attributes->comp_mask = 0;
  if ((wanted & MLX5DV_CONTEXT_MASK_SWP) != 0) {
    attributes->sw_parsing_caps = {};
    attributes->comp_mask |= MLX5DV_CONTEXT_MASK_SWP;
  }
  if ((wanted & MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS) != 0) {
    attributes->tunnel_offloads_caps = 0;
    attributes->comp_mask |= MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS;
  }
  if ((wanted & MLX5DV_CONTEXT_MASK_STRIDING_RQ) != 0 &&
      Adapter::instance().config().multi_packet) {
    mlx5dv_striding_rq_caps& caps = attributes->striding_rq_caps;
    caps.min_single_stride_log_num_of_bytes = kLeastLogStrideBytes;
    caps.max_single_stride_log_num_of_bytes = kMostLogStrideBytes;
    caps.min_single_wqe_log_num_of_strides = kLeastLogStrides;
    caps.max_single_wqe_log_num_of_strides = kMostLogStrides;
    caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
    attributes->comp_mask |= MLX5DV_CONTEXT_MASK_STRIDING_RQ;
  }
  return 0;
}

int connectx4_set_allocators(ibv_context* context, const mlx5dv_ctx_allocators* allocators) {
  Port::of(context)->memory().use_allocators(*allocators);
  return 0;
}

}  // extern "C"
