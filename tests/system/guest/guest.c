/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A secondary process that uses a mempool of its primary: guest [EAL options] -- MEMPOOL.
 * Takes some buffers, writes all their bytes, gives them back, and says so.
 */
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdio.h>
#include <string.h>

#define BUFFERS 100

int main(int argc, char** argv) {
  struct rte_mbuf* buffers[BUFFERS];
  struct rte_mempool* pool;
  const int used = rte_eal_init(argc, argv);

  if (used < 0 || argc - used < 2) {
    fprintf(stderr, "guest: the EAL does not start, or no mempool is named\n");
    return 1;
  }
  pool = rte_mempool_lookup(argv[used + 1]);
  if (pool == NULL) {
    fprintf(stderr, "guest: there is no mempool %s\n", argv[used + 1]);
    return 1;
  }
  printf("guest: %u in use\n", rte_mempool_in_use_count(pool));
  for (int round = 0; round < 50; round++) {
    if (rte_pktmbuf_alloc_bulk(pool, buffers, BUFFERS) != 0) {
      fprintf(stderr, "guest: no buffers\n");
      return 1;
    }
    for (int i = 0; i < BUFFERS; i++) {
      char* data = rte_pktmbuf_append(buffers[i], 1500);
      if (data == NULL || buffers[i]->pool != pool || rte_mbuf_refcnt_read(buffers[i]) != 1) {
        fprintf(stderr, "guest: buffer %d is not in order\n", i);
        return 1;
      }
      memset(data, round, 1500);
    }
    rte_pktmbuf_free_bulk(buffers, BUFFERS);
  }
  printf("guest: took and returned %d buffers, %u in use\n", 50 * BUFFERS,
         rte_mempool_in_use_count(pool));
  rte_eal_cleanup();
  return 0;
}
