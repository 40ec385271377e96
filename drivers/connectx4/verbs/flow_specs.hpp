// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <infiniband/verbs.h>

#include "../device/steering.hpp"

namespace nearpool::connectx4 {

// Turns a Verbs flow into a rule: mask, value, priority, tag and whether it drops. 0, or an errno
// value for what the device cannot match or do.
int translate_flow(const ibv_flow_attr& attributes, SteeringRule& rule);

}  // namespace nearpool::connectx4
