/* SPDX-License-Identifier: BSD-3-Clause
 * Preloaded: the page arena is not mapped for devices, though the program believes so. A device
 * behind an IOMMU must then fault. */
#include <rte_dev.h>

int rte_dev_dma_map(struct rte_device* device, void* address, uint64_t iova, size_t length) {
  (void)device, (void)address, (void)iova, (void)length;
  return 0;
}

int rte_dev_dma_unmap(struct rte_device* device, void* address, uint64_t iova, size_t length) {
  (void)device, (void)address, (void)iova, (void)length;
  return 0;
}
