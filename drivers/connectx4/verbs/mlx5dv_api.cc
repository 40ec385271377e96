// SPDX-License-Identifier: BSD-3-Clause
// libmlx5: the device's own interface to queues. There is no firmware to command: opening a device
// for that is refused, and the PMD falls back to Verbs.
#include <infiniband/mlx5dv.h>

#include <cerrno>

#include "private_api.h"

extern "C" {

ibv_context* mlx5dv_open_device(ibv_device*, mlx5dv_context_attr*) {
  errno = EOPNOTSUPP;
  return nullptr;
}

bool mlx5dv_is_supported(ibv_device*) {
  return true;
}

int mlx5dv_query_device(ibv_context* context, mlx5dv_context* attributes) {
  return connectx4_query_device(context, attributes);
}

int mlx5dv_set_context_attr(ibv_context* context, enum mlx5dv_set_ctx_attr_type type,
                            void* attribute) {
  if (type != MLX5DV_CTX_ATTR_BUF_ALLOCATORS) return EOPNOTSUPP;
  return connectx4_set_allocators(context, static_cast<mlx5dv_ctx_allocators*>(attribute));
}

ibv_cq_ex* mlx5dv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes,
                            mlx5dv_cq_init_attr* own) {
  // The PMD asks for compressed completions. A device that never compresses one keeps to the
  // format.
  constexpr uint64_t kKnown =
      MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE | MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
  constexpr uint16_t kSize = 64;
  const bool sized = (own->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE) != 0;
  if ((own->comp_mask & ~kKnown) != 0 || (sized && own->cqe_size != kSize)) {
    errno = EINVAL;  // padded entries among others
    return nullptr;
  }
  return connectx4_create_cq(context, attributes);
}

ibv_wq* mlx5dv_create_wq(ibv_context* context, ibv_wq_init_attr* attributes,
                         mlx5dv_wq_init_attr* own) {
  uint32_t log_stride_bytes = 0;
  uint32_t log_strides = 0;
  if ((own->comp_mask & ~uint64_t{MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ}) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  if ((own->comp_mask & MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ) != 0) {
    if (own->striding_rq_attrs.two_byte_shift_en != 0) {
      errno = EOPNOTSUPP;
      return nullptr;
    }
    log_stride_bytes = own->striding_rq_attrs.single_stride_log_num_of_bytes;
    log_strides = own->striding_rq_attrs.single_wqe_log_num_of_strides;
  }
  return connectx4_create_wq(context, attributes, log_stride_bytes, log_strides);
}

ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                         mlx5dv_qp_init_attr* own) {
  constexpr uint64_t kKnown = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
  constexpr uint32_t kKnownFlags = MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC;
  const bool flags = (own->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) != 0;
  if ((own->comp_mask & ~kKnown) != 0 || (flags && (own->create_flags & ~kKnownFlags) != 0)) {
    errno = EOPNOTSUPP;  // tunnel offloads among others
    return nullptr;
  }
  return connectx4_create_qp(context, attributes);
}

int mlx5dv_init_obj(mlx5dv_obj* object, uint64_t types) {
  constexpr uint64_t kKnown = MLX5DV_OBJ_CQ | MLX5DV_OBJ_RWQ | MLX5DV_OBJ_QP | MLX5DV_OBJ_PD;
  if ((types & ~kKnown) != 0) return errno = EOPNOTSUPP;
  if ((types & MLX5DV_OBJ_CQ) != 0) connectx4_describe_cq(object->cq.in, object->cq.out);
  if ((types & MLX5DV_OBJ_RWQ) != 0) connectx4_describe_rwq(object->rwq.in, object->rwq.out);
  if ((types & MLX5DV_OBJ_QP) != 0) connectx4_describe_qp(object->qp.in, object->qp.out);
  if ((types & MLX5DV_OBJ_PD) != 0) {
    object->pd.out->pdn = 1;
    object->pd.out->comp_mask = 0;
  }
  return 0;
}

}  // extern "C"
