// SPDX-License-Identifier: BSD-3-Clause
// The control netdevs: persistent tap interfaces.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace nearpool::connectx4 {

// Makes the interface with this address and brings it up. False with a sentence.
bool make_tap(const std::string& name, const std::array<uint8_t, 6>& address, std::string& error);

// Removes it, if it is there and is a tap.
void remove_tap(const std::string& name);

}  // namespace nearpool::connectx4
