// SPDX-License-Identifier: BSD-3-Clause
// What DPDK names or does otherwise in later releases than 22.11.
#pragma once

#include <rte_telemetry.h>
#include <rte_version.h>

#include <cstdint>

namespace nearpool::compat {

// 23.03 renamed the function, and 26.07 has the new name only.
inline int add_dict_uint(rte_tel_data* dict, const char* name, uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  return rte_tel_data_add_dict_uint(dict, name, value);
#else
  return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

}  // namespace nearpool::compat
