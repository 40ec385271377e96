// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/verbs.h>

namespace nearpool::connectx4 {

// Fills in the operations that programs call through the context. Everything left null is answered
// with EOPNOTSUPP by the inline functions of libibverbs, as for a device without the feature.
void fill_context_operations(verbs_context& context);

}  // namespace nearpool::connectx4
