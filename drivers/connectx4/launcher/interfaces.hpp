// SPDX-License-Identifier: BSD-3-Clause
// The control netdevs: persistent tap interfaces.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace nearpool::connectx4 {

// Makes the interface with this address and brings it up. False with a sentence, also when there is
// one of this name.
bool make_tap(const std::string& name, const std::array<uint8_t, 6>& address, std::string& error);

// Removes it, if it is there and is a tap.
void remove_tap(const std::string& name);

// What tells an interface from another of its name, made later or in another network namespace.
struct InterfaceIdentity {
  uint64_t network = 0;
  uint32_t index = 0;
  bool operator==(const InterfaceIdentity&) const = default;
};
// Of the interface with this name here, if there is one.
std::optional<InterfaceIdentity> identity_of(const std::string& name);

}  // namespace nearpool::connectx4
