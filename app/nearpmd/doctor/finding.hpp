// SPDX-License-Identifier: BSD-3-Clause
// What the doctor has to say of one thing it looked at.
#pragma once

#include <string>
#include <vector>

namespace nearpool::doctor {

enum class Health {
  kGood,
  kSlow,     // runs, but slower or less evenly than it could
  kStops,    // nearpmd does not start so, or what it does is wrong
  kUnknown,  // cannot be seen from here
};

struct Finding {
  Health health = Health::kGood;
  std::string topic;   // "hugepages"
  std::string seen;    // what there is
  std::string advice;  // what to do; empty when all is well
};

using Findings = std::vector<Finding>;

}  // namespace nearpool::doctor
