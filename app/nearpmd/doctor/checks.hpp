// SPDX-License-Identifier: BSD-3-Clause
// The things the doctor looks at, one function each. All read the files of Visit::machine and
// change nothing.
#pragma once

#include "doctor/finding.hpp"
#include "doctor/visit.hpp"

namespace nearpool::doctor {

Findings check_hugepages(const Visit& visit);
Findings check_main_lcore(const Visit& visit);  // the EAL's own memory is on its node
Findings check_memlock(const Visit& visit);
Findings check_numa_balancing(const Visit& visit);

Findings check_device_nodes(const Visit& visit);
Findings check_isolated_cpus(const Visit& visit);
Findings check_governor(const Visit& visit);

Findings check_kernel_drivers(const Visit& visit);  // vfio, and what it needs of the IOMMU
Findings check_iommu_mode(const Visit& visit);
Findings check_pause_frames(const Visit& visit);
Findings check_fast_free(const Visit& visit);

Findings check_firmware(const Visit& visit);
Findings check_rdma_core(const Visit& visit);
Findings check_device_arguments(const Visit& visit);  // MPRQ, CQE compression

Findings check_plugin(const Visit& visit);

}  // namespace nearpool::doctor
