// SPDX-License-Identifier: BSD-3-Clause
// How far apart two CPUs are. A virtual machine's host may move its CPUs between cores that share a
// cache and cores that do not, while it runs: what two lcores hand each other then takes several
// times as long, and figures taken before and after have nothing to do with each other.
#pragma once

namespace nearpool::bench {

// Nanoseconds a cache line takes from one CPU to the other and back, least of a few tries, by two
// threads pinned for it; NaN where they cannot be. Takes about 20 ms.
double core_distance(unsigned cpu, unsigned other);

// A distance is near if it is at most so many times the least one seen. Seen on one virtual machine
// within minutes: about 60, 105 and 450 ns.
inline constexpr double kNear = 2.5;

}  // namespace nearpool::bench
