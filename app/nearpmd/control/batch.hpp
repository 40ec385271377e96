// SPDX-License-Identifier: BSD-3-Clause
// The program without a prompt: forwards until its input ends or a signal asks it to stop.
#pragma once

#include "control/engine.hpp"

namespace nearpool {

Status run_batch(Engine& engine);

}  // namespace nearpool
