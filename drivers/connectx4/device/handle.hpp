// SPDX-License-Identifier: BSD-3-Clause
// Every object a program holds is a C structure of libibverbs. Ours is followed by a pointer to the
// object behind it.
#pragma once

#include <type_traits>

namespace nearpool::connectx4 {

template <typename Verbs, typename Owner>
struct Handle {
  Verbs verbs{};
  Owner* owner = nullptr;
};

template <typename Owner, typename Verbs>
Owner* owner_of(Verbs* verbs) {
  static_assert(std::is_standard_layout_v<Handle<Verbs, Owner>>, "verbs must be at offset 0");
  return reinterpret_cast<Handle<Verbs, Owner>*>(verbs)->owner;
}

}  // namespace nearpool::connectx4
