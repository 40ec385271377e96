// SPDX-License-Identifier: BSD-3-Clause
// The operations that programs reach through the context instead of by name.
#pragma once

#include <infiniband/verbs.h>

#include "../device/verbs_context.hpp"

namespace nearpool::connectx4 {

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes);
int modify_wq(ibv_wq* queue, ibv_wq_attr* attributes);
int destroy_wq(ibv_wq* queue);
ibv_rwq_ind_table* create_indirection_table(ibv_context* context,
                                            ibv_rwq_ind_table_init_attr* attributes);
int destroy_indirection_table(ibv_rwq_ind_table* table);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_flow* create_flow(ibv_qp* queue, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);

}  // namespace nearpool::connectx4
