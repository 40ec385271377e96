// SPDX-License-Identifier: BSD-3-Clause
// nearpmd --doctor: looks before anything is started, and says what to do.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "doctor/finding.hpp"
#include "doctor/visit.hpp"

namespace nearpool::doctor {

// Exit codes of --doctor.
constexpr int kAllWell = 0;         // nothing stands in the way; there may be advice
constexpr int kSomethingStops = 3;  // at least one finding is Health::kStops

// Everything there is to look at, in the order of the checklist.
Findings examine(const Visit& visit);
// The checklist, its sum, and the exit code.
int print_checklist(std::FILE* to, const Findings& findings);

// Bytes that the pools of one node may need, ports of any kind counted.
uint64_t bytes_wanted(const Options& options, size_t ports, size_t lcores);

// @param eal what stands before "--", without the program's name and --doctor
int run_doctor(const std::vector<std::string>& eal, const Options& options);

}  // namespace nearpool::doctor
