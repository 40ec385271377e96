/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The page pool: packet-buffer memory per RX queue, for DPDK programs in C and C++.
 *
 * A **page** is one fixed-size slot that holds one packet buffer (object header, rte_mbuf, private
 * area, headroom, data room). An **arena** is the page memory of all NUMA nodes for one page
 * layout. A **pool** belongs to one RX queue, is a struct rte_mempool like any other, and borrows
 * its pages from the arena. It allocates from one node, its **nid**; a page that comes back is kept
 * only if it is on that node and was not taken under memory pressure; all other pages go home to
 * the arena.
 *
 * Threads. "Control thread" below means: any one thread at a time. "Consumer" means: the lcore that
 * polls the queue, exactly one at a time per pool. Buffers may be freed by any thread, EAL or not,
 * with the ordinary calls (rte_pktmbuf_free(), rte_mempool_put_bulk() ...).
 *
 * Errors. A call that can fail returns 0 or a negative errno, and then page_pool_error() gives one
 * sentence: what was asked, what there is, what to do.
 */
#ifndef NEARPOOL_PAGE_POOL_H_
#define NEARPOOL_PAGE_POOL_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_device;
struct rte_mbuf;
struct rte_mempool;
struct rte_rcu_qsbr;
struct page_arena;
struct page_pool;

/** A node argument that stands for "the node of the calling thread". */
#define PAGE_POOL_ANY_NODE (-1)
/** Most nodes an arena spans. Node ids may be sparse (0 and 8), each below this number. */
#define PAGE_POOL_MAX_NODES 32
/** Longest name of an arena or a pool, without the terminating zero. */
#define PAGE_POOL_NAME_MAX 24
/** A watermark argument that stands for "none". Zero stands for the default. */
#define PAGE_ARENA_NO_WATERMARK UINT32_MAX

/** The sentence that explains the calling thread's last failed call; never NULL. */
const char* page_pool_error(void);

/* ---- topology ------------------------------------------------------------------------------- */

/**
 * Replaces the machine's NUMA topology by an emulated one: each lcore of @p map polls on the node
 * named for it. Memory of emulated nodes comes from the machine's real nodes, and all reports say
 * "emulated". Control thread, before the first arena or pool exists.
 *
 * @param map "lcore:node[,lcore:node...]", lcores 0 to 127, nodes 0 to 31; lcores that are not
 *   named are on the lowest node named.
 * @return 0, -EINVAL (the map is not of that form), -EBUSY (too late).
 */
int page_pool_emulate_nodes(const char* map);

/** Whether the topology is emulated. Any thread. */
bool page_pool_nodes_emulated(void);

/**
 * The node of the CPU that runs the calling thread, or, in an emulated topology, of its lcore. A
 * node without memory is replaced by the nearest node that has some. No system call. Any thread.
 */
int page_pool_current_node(void);

/** As page_pool_current_node(), of another lcore: the node of the first CPU it may run on. */
int page_pool_lcore_node(unsigned int lcore);

/* ---- arena ---------------------------------------------------------------------------------- */

/** Pages of one node. */
struct page_arena_node {
  int node;       /**< node id, 0 to 31; a node without memory is refused */
  uint32_t pages; /**< at least this many pages; rounded up to whole hugepages */
};

/** Use ordinary pages instead of hugepages. */
#define PAGE_ARENA_F_NO_HUGE (1u << 0)
/** A page that lies on another node than asked is counted and warned of, not an error. */
#define PAGE_ARENA_F_LENIENT (1u << 1)

struct page_arena_params {
  const char* name;                    /**< 1 to PAGE_POOL_NAME_MAX letters, digits, '_' or '-' */
  uint16_t data_room;                  /**< bytes, RTE_PKTMBUF_HEADROOM included; 128 to 65535 */
  uint16_t priv_size;                  /**< bytes of application area per buffer, multiple of 8 */
  const struct page_arena_node* nodes; /**< one entry per node, each node once */
  uint32_t nb_nodes;                   /**< 1 to PAGE_POOL_MAX_NODES */
  /**
   * Watermarks, pages free per node, min <= low <= high <= pages of the smallest node.
   * Below min: pages are pressure pages. Below low: pools are asked for surplus, until high.
   * Zero: the default (1/64, 1/32 and 1/16 of the node). PAGE_ARENA_NO_WATERMARK: none.
   */
  uint32_t min_pages, low_pages, high_pages;
  uint32_t flags; /**< PAGE_ARENA_F_* */
};

/**
 * Maps the memory, binds it to its nodes, verifies where it lies, and makes it known to the EAL.
 * Control thread, after rte_eal_init(), primary process.
 *
 * @return 0, -EINVAL (a parameter), -ENOMEM (does not fit: the sentence has the bytes wanted, the
 *   bytes free per node and the largest size that fits), -EXDEV (memory lies on the wrong node),
 *   -ENOTSUP (secondary process). On failure everything is given back.
 */
int page_arena_create(const struct page_arena_params* params, struct page_arena** arena);

/** Gives the memory back. NULL is allowed. Control thread. @return 0, or -EBUSY: pools exist. */
int page_arena_destroy(struct page_arena* arena);

/**
 * Makes the arena reachable for a device behind vfio; other devices need nothing. Control thread.
 * @return 0 (also when the device needs no mapping), or what rte_dev_dma_map() reports.
 */
int page_arena_dma_map(struct page_arena* arena, struct rte_device* device);
int page_arena_dma_unmap(struct page_arena* arena, struct rte_device* device);

struct page_arena_stats {
  int node;
  uint32_t pages;          /**< pages created */
  uint32_t free;           /**< pages in the free list */
  uint32_t min, low, high; /**< watermarks, pages */
  uint32_t pressure_out;   /**< pressure pages that are not home yet */
  uint64_t pressure_taken; /**< pages taken below min, ever */
  uint64_t fallback_taken; /**< pages taken here for a pool of another node, ever */
  uint64_t below_low;      /**< times the node fell below low */
  uint64_t below_min;      /**< times the node fell below min */
  uint64_t misplaced;      /**< pages found on another node at creation (lenient arenas) */
  bool asking;             /**< pools are being asked for surplus */
  bool forced;             /**< page_arena_force_pressure() is on */
};

/** Nodes of the arena, in the order of the parameters. Any thread. */
uint32_t page_arena_nb_nodes(const struct page_arena* arena);
/** @param index 0 to page_arena_nb_nodes() - 1. Any thread; exact while workers stand still. */
int page_arena_get_stats(const struct page_arena* arena, uint32_t index,
                         struct page_arena_stats* stats);
/** The node id a page lies on by its address, or -EINVAL: no page of this arena. Any thread. */
int page_arena_node_of(const struct page_arena* arena, const void* page);
/** Makes the node behave as if below min, to see it work. Control thread. -EINVAL: no such node. */
int page_arena_force_pressure(struct page_arena* arena, int node, bool on);

/* ---- pool ----------------------------------------------------------------------------------- */

/** Do not follow the consumer's node: page_pool_nid_changed() changes nothing. */
#define PAGE_POOL_F_NO_NODE_FOLLOW (1u << 0)
/** Keep pages of other nodes when they come back. */
#define PAGE_POOL_F_NO_FOREIGN_REJECT (1u << 1)
/** Keep pressure pages when they come back. */
#define PAGE_POOL_F_NO_PRESSURE_REJECT (1u << 2)
/** Each return of a lcore that is not the consumer is a driver call of its own. */
#define PAGE_POOL_F_NO_BULK_RETURN (1u << 3)
/** Check every take and return, and name the pool, page and lcore of a misuse. Only at creation. */
#define PAGE_POOL_F_HARDENED (1u << 4)
/**
 * Remember of each page that is out since when, and which lcore it was handed to. Means
 * PAGE_POOL_F_HARDENED too, since no page may pass inline then. Only at creation.
 */
#define PAGE_POOL_F_LEAK_WATCH (1u << 5)

struct page_pool_params {
  const char* name; /**< 1 to PAGE_POOL_NAME_MAX letters, digits, '_', '-' or '.'; unique */
  struct page_arena* arena;
  int node;            /**< first nid: a node id, or PAGE_POOL_ANY_NODE */
  uint32_t quota;      /**< most pages the pool may own, 1 to the arena's pages */
  uint32_t ring_size;  /**< return ring, pages: 0 (room for the quota) or 64 to 2^20; rounded up */
  uint32_t stash_size; /**< pages kept behind the cache: 0 (the quota) or 64 to 2^20 */
  uint32_t cache_size; /**< consumer's alloc cache, pages, 0 to 512; capped to the quota */
  uint32_t bulk;       /**< a lcore gathers fewer returns: 0 (64) or 4 to 512; at most the quota */
  uint32_t flags;      /**< PAGE_POOL_F_* */
};

/**
 * Control thread.
 * @return 0, -EINVAL (a parameter), -EEXIST (name), -ENOMEM. On failure everything is given back.
 */
int page_pool_create(const struct page_pool_params* params, struct page_pool** pool);

/** The pool as a mempool, for rte_eth_rx_queue_setup() and all else. Any thread. */
struct rte_mempool* page_pool_mempool(struct page_pool* pool);
/** The pool behind a mempool that page_pool_create() made, or NULL. Any thread. */
struct page_pool* page_pool_from_mempool(const struct rte_mempool* mempool);

/**
 * Once per poll cycle, by the consumer. Claims the queue for the calling lcore if no other has it,
 * follows @p node, and does what the arena or the control thread asked for, a bounded piece per
 * call. One compare when there is nothing to do.
 *
 * A lcore that calls this while another one has not called page_pool_release() takes the queue
 * over; the other's alloc cache stays with it until it next returns a page. The caller makes sure
 * that two lcores never poll at once (hardened mode reports it).
 *
 * @param node node id, or PAGE_POOL_ANY_NODE.
 * @return whether the nid changed.
 */
bool page_pool_nid_changed(struct page_pool* pool, int node);
/** As page_pool_nid_changed(), whatever PAGE_POOL_F_NO_NODE_FOLLOW says. Consumer. */
bool page_pool_update_nid(struct page_pool* pool, int node);
/**
 * The consumer leaves the queue, at its quiescent point: its alloc cache goes back to the pool, and
 * the next lcore may take over. Does nothing if the calling lcore is not the consumer.
 */
void page_pool_release(struct page_pool* pool);

/**
 * All @p n buffers or none: 0 or -ENOBUFS. @p n from 1 to the quota, and not more than the quota
 * the pool was created with. Any EAL thread.
 */
int page_pool_alloc_bulk(struct page_pool* pool, struct rte_mbuf** buffers, unsigned int n);
/** Returns buffers of this pool that nobody else refers to, segment by segment. Any thread. */
void page_pool_put_bulk(struct page_pool* pool, struct rte_mbuf* const* buffers, unsigned int n);
/**
 * Hands on what the calling lcore has gathered of this pool's pages. At the end of each poll cycle,
 * for each pool whose pages the lcore may have freed. Does nothing for the consumer's own pool.
 */
void page_pool_flush_returns(struct page_pool* pool);

/** Sets or clears those PAGE_POOL_F_* that are not "only at creation". Control thread. */
int page_pool_set_flags(struct page_pool* pool, uint32_t set, uint32_t clear);
/** @param quota 1 to the arena's pages; a pool above it shrinks as pages return. Control thread. */
int page_pool_set_quota(struct page_pool* pool, uint32_t quota);

/**
 * Counters since creation, in pages where nothing else is said. "Take" is a driver call that hands
 * pages out, "return" one that takes them back. What passes inline in a lcore's cache never makes a
 * driver call, is counted nowhere, and costs nothing.
 */
struct page_pool_stats {
  char name[PAGE_POOL_NAME_MAX + 1];
  uint32_t id;  /**< unique in the process */
  int nid;      /**< node the pool allocates from */
  int consumer; /**< lcore id, or -1 */
  bool strict;  /**< returns go through the keep rule one driver call at a time */
  bool dying;   /**< destroyed, waiting for its pages */
  bool hardened;
  uint32_t flags; /**< PAGE_POOL_F_* in force */
  uint32_t quota;
  uint32_t ring_size; /**< pages the return ring holds */
  uint32_t stash_size;
  uint32_t cache_size;
  uint32_t bulk;

  /* The books; exact while workers stand still: owned = cached + stashed + ringed + inflight. */
  uint32_t owned;
  uint32_t owned_foreign;                   /**< of these, on other nodes than nid */
  uint32_t owned_pressure;                  /**< of these, taken under pressure */
  uint32_t cached;                          /**< in lcores' caches */
  uint32_t stashed;                         /**< in the consumer's stash */
  uint32_t ringed;                          /**< in the return ring */
  int64_t inflight;                         /**< in RX rings, TX rings and the application */
  uint32_t owned_node[PAGE_POOL_MAX_NODES]; /**< owned, by node id */

  uint64_t alloc_slow;     /**< pages handed out by takes */
  uint64_t alloc_arena;    /**< pages taken from the arena */
  uint64_t alloc_empty;    /**< calls: ring and stash were empty when pages were wanted */
  uint64_t alloc_refill;   /**< calls: pages came from the ring */
  uint64_t alloc_waive;    /**< foreign or pressure pages the consumer met in ring, stash, cache */
  uint64_t alloc_fallback; /**< pages taken from another node than nid */
  uint64_t alloc_pressure; /**< pages taken under pressure */
  uint64_t alloc_failed;   /**< calls that ended in ENOBUFS */
  uint64_t quota_refused;  /**< calls the quota kept from the arena */
  uint64_t recycle_cached; /**< returned pages kept in the consumer's cache or stash */
  uint64_t recycle_ring;   /**< returned pages put in the ring */
  uint64_t recycle_ring_full; /**< returned pages the ring had no room for */
  uint64_t released;          /**< pages given back to the arena, all reasons */
  uint64_t released_surplus;  /**< of these, the arena asked, the stash was full, or over quota */
  uint64_t foreign_refused;   /**< of these, on another node than nid */
  uint64_t pressure_refused;  /**< of these, on nid but taken under pressure */
  uint64_t flushed;           /**< pages an update of nid looked at in cache, stash and ring */
  uint64_t nid_updates;
  uint64_t returns_bulk;         /**< calls: returns of two pages or more */
  uint64_t returns_single;       /**< calls: returns of one page */
  uint64_t returns_unregistered; /**< pages returned by threads without an lcore id */
  uint64_t takes_other;          /**< pages taken by threads other than the consumer */
  uint64_t takeovers;     /**< times a lcore took the queue over from one that had not left */
  uint64_t misrouted;     /**< returned pages of another pool, sent on to it */
  uint64_t misuse;        /**< double returns, returns of no page: reported and not taken in */
  uint64_t strict_cycles; /**< TSC cycles in strict mode */
};

/** Any thread. The books are exact while workers stand still, else approximate. */
void page_pool_get_stats(const struct page_pool* pool, struct page_pool_stats* stats);
/** Pages handed out and not yet back. Any thread; exact while workers stand still. */
int64_t page_pool_inflight(const struct page_pool* pool);

/** A page that is out: in an RX ring, in a TX ring or in the application. */
struct page_pool_out {
  const void* page; /**< its address, for a debugger; the page may be back by now */
  int lcore;        /**< that it was last handed to; -1: a thread without an lcore id */
  uint64_t age_ms;  /**< since then */
};
/**
 * Calls @p callback for each page of the pool that is out longer than @p older_than_ms. Any thread;
 * exact while workers stand still, to about a millisecond. The callback may not destroy pools.
 * @return 0, or -ENOTSUP: the pool was not made with PAGE_POOL_F_LEAK_WATCH.
 */
int page_pool_walk_out(const struct page_pool* pool, uint64_t older_than_ms,
                       void (*callback)(const struct page_pool_out* out, void* argument),
                       void* argument);

/**
 * Ends a pool. Queues using it must be closed and its consumer have called page_pool_release().
 * The pool gives back every page it holds, is listed as dying until the last one is home, and is
 * freed by page_pool_service() then; @p pool must not be used any more. NULL is allowed.
 * Control thread. @return 0: gone, or -EINPROGRESS: dying.
 */
int page_pool_destroy(struct page_pool* pool);

/**
 * QSBR variable whose readers are all lcores that may return pages; a dying pool is then freed only
 * after each of them has passed a quiescent state. NULL: none; a dying pool is freed when it has
 * had no page out for 100 ms. Control thread.
 */
void page_pool_use_qsbr(struct rte_rcu_qsbr* qsbr);

/**
 * The housekeeping that no consumer does: drains rings and stashes of idle pools when the arena
 * asks, frees dying pools whose last page is home, warns of those that linger. Control thread,
 * about ten times a second; never touches a consumer's cache.
 * @return number of dying pools.
 */
unsigned int page_pool_service(void);

/**
 * Calls @p callback for each pool, dying ones included; it may destroy pools. Control thread.
 */
void page_pool_walk(void (*callback)(struct page_pool* pool, void* argument), void* argument);
/** Calls @p callback for each arena; it may destroy that arena. Control thread. */
void page_arena_walk(void (*callback)(struct page_arena* arena, void* argument), void* argument);

#ifdef __cplusplus
}
#endif

#endif /* NEARPOOL_PAGE_POOL_H_ */
