// SPDX-License-Identifier: BSD-3-Clause
// The program without a prompt: forwards until its input ends or a signal asks it to stop.
#pragma once

#include "control/engine.hpp"

namespace nearpool {

// Ports have been started, as far as they shall be.
Status run_batch(Engine& engine);

}  // namespace nearpool
