// SPDX-License-Identifier: BSD-3-Clause
// Copies a bulk of page pointers and checks on the way that all lie within a range: a return in
// strict mode is then one pass over the table, as a return in relaxed mode is.
#pragma once

#include <cstdint>

#include "page_arena/page_arena.hpp"

namespace nearpool {

// Copies n pointers to `to`, which does not overlap `from`. Whether all are in the range; what was
// copied is of use only then. Looks at no memory of the pages.
using CheckedCopy = bool (*)(void** to, void* const* from, uint32_t n, AddressRange range);

// The widest this CPU runs. Control path.
CheckedCopy best_checked_copy();

}  // namespace nearpool
