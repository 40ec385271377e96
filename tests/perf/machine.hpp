// SPDX-License-Identifier: BSD-3-Clause
// The machine a benchmark runs on: which CPUs and how much memory it may have, and what to say of
// it beside the figures.
#pragma once

#include <string>
#include <vector>

namespace nearpool::bench {

// CPUs this process may run on, in ascending order.
std::vector<unsigned> allowed_cpus();
// 2 MiB hugepages free now.
unsigned free_hugepages();
// After the EAL is up.
void print_machine(const std::vector<unsigned>& cpus, const std::string& memory);

}  // namespace nearpool::bench
