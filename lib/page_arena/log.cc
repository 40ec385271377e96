// SPDX-License-Identifier: BSD-3-Clause
#include "page_arena/log.hpp"

namespace nearpool {

namespace {
int registered_type = -1;
}  // namespace

int log_type() {
  return registered_type;
}

RTE_INIT(register_log_type) {
  registered_type = rte_log_register_type_and_pick_level("page_pool", RTE_LOG_INFO);
}

}  // namespace nearpool
