// SPDX-License-Identifier: BSD-3-Clause
// The measured loops. Each is the same code for all contenders: rte_mempool's inline calls, and for
// a page pool what its contract asks of a poll cycle, which is charged to it.
//
// A loop runs for a slot of time, in laps of some ten thousand pages; its result is the median lap,
// so that a lap in which the machine did something else does not count. Cycles are TSC cycles.
#pragma once

#include <cstdint>

#include "contenders.hpp"
#include "error.hpp"

namespace nearpool::bench {

// Takes `set` pages in bulks, then returns them in bulks; a poll cycle per set. The calling lcore
// does all. `bulk` is 1, 4, 32 or 64 and divides `set`. TSC cycles per page, for get and put.
//
// `skew` pages are held meanwhile, which moves the part of the pool's cache that the loop uses. It
// may lie across a boundary of 4 KiB, which costs a quarter; so rounds have different skews, the
// same for all contenders.
Result<double> one_core(const Contender& contender, unsigned bulk, unsigned set, unsigned skew,
                        uint64_t slot);
inline constexpr unsigned kMostSkew = 128;
inline constexpr unsigned kSkewStep = 37;  // through all of them

inline constexpr unsigned kPipelineBulk = 32;
inline constexpr unsigned kHandoverSlots = 512;

// The calling lcore takes a bulk, writes to each mbuf's header, and hands it over through an SP/SC
// ring; the other lcore reads and writes the header and returns the bulk; a poll cycle per bulk on
// both. TSC cycles per page, from take to take.
Result<double> two_lcores(const Contender& contender, uint32_t pages, uint64_t slot);

}  // namespace nearpool::bench
