/* SPDX-License-Identifier: BSD-3-Clause */
/* What our libmlx5 takes from our libibverbs. Exported under a version of its own, which no real
 * libibverbs has: the two libraries work with each other only. */
#ifndef CONNECTX4_PRIVATE_API_H
#define CONNECTX4_PRIVATE_API_H

#include <infiniband/mlx5dv.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the functions of libmlx5 with these names. */
int connectx4_query_device(struct ibv_context* context, struct mlx5dv_context* attributes);
int connectx4_set_allocators(struct ibv_context* context,
                             const struct mlx5dv_ctx_allocators* allocators);
struct ibv_cq_ex* connectx4_create_cq(struct ibv_context* context,
                                      struct ibv_cq_init_attr_ex* attributes);
/* Logarithms of a multi-packet queue's stride; 0 strides for another queue. */
struct ibv_wq* connectx4_create_wq(struct ibv_context* context, struct ibv_wq_init_attr* attributes,
                                   uint32_t log_stride_bytes, uint32_t log_strides);
struct ibv_qp* connectx4_create_qp(struct ibv_context* context,
                                   struct ibv_qp_init_attr_ex* attributes);
void connectx4_describe_cq(struct ibv_cq* queue, struct mlx5dv_cq* description);
void connectx4_describe_rwq(struct ibv_wq* queue, struct mlx5dv_rwq* description);
void connectx4_describe_qp(struct ibv_qp* queue, struct mlx5dv_qp* description);

/* A direct steering rule. `mask` and `value` are the 64 bytes of the outer headers. */
enum connectx4_verdict { CONNECTX4_QUEUE, CONNECTX4_DROP, CONNECTX4_MISS };
struct connectx4_rule;
struct connectx4_rule* connectx4_add_rule(struct ibv_context* context, uint32_t priority,
                                          const uint8_t* mask, const uint8_t* value,
                                          enum connectx4_verdict verdict, struct ibv_qp* target,
                                          uint32_t flow_tag);
void connectx4_remove_rule(struct connectx4_rule* rule);

#ifdef __cplusplus
}
#endif

#endif
