// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "doctor/visit.hpp"

namespace nearpool::doctor {

// Of a network interface of this machine, as ethtool -a shows it.
std::optional<PauseFrames> ask_pause_frames(const std::string& interface);

}  // namespace nearpool::doctor
