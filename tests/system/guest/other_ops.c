/* SPDX-License-Identifier: BSD-3-Clause */
/* Mempool ops that nobody uses, for a table of ops that differs from the primary's. */
#include <errno.h>
#include <rte_mempool.h>

static int no_alloc(struct rte_mempool* pool) {
  (void)pool;
  return -ENOTSUP;
}
static int no_enqueue(struct rte_mempool* pool, void* const* objects, unsigned int n) {
  (void)pool, (void)objects, (void)n;
  return -ENOTSUP;
}
static int no_dequeue(struct rte_mempool* pool, void** objects, unsigned int n) {
  (void)pool, (void)objects, (void)n;
  return -ENOTSUP;
}
static unsigned int no_count(const struct rte_mempool* pool) {
  (void)pool;
  return 0;
}

static struct rte_mempool_ops other_ops = {
    .name = "other",
    .alloc = no_alloc,
    .enqueue = no_enqueue,
    .dequeue = no_dequeue,
    .get_count = no_count,
};
RTE_MEMPOOL_REGISTER_OPS(other_ops)
