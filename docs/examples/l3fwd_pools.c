/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A router in the manner of dpdk-l3fwd whose buffers come from a page pool per RX queue.
 *
 *   l3fwd_pools [EAL options] -- [--packets N]
 *
 * Frames to 198.18.I.0/24 leave by port I; all others are dropped. Port P is polled by one worker,
 * the ports in turn by the workers. It ends at a signal, or after N frames, and prints the books.
 *
 * What is about the pool is marked POOL: make the arena and the pools, then in each poll cycle
 * follow the node, return drops in bulk, and flush what was freed of other queues' pages.
 */
#include <inttypes.h>
#include <page_pool.h>
#include <rte_byteorder.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_lpm.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 32
#define BURST 32
#define DESCRIPTORS 512
/* What a queue can have in hand: its ring, what TX rings hold of it, caches and bursts. */
#define PAGES_PER_PORT (DESCRIPTORS * (2 + MAX_PORTS / 8) + 1024)
#define NO_ROUTE UINT32_MAX

struct port {
  uint16_t id;
  unsigned int worker; /* lcore that polls it */
  struct rte_ether_addr mac;
  struct page_pool* pool; /* POOL: of its one RX queue */
};

struct worker {
  uint16_t tx_queue; /* its own queue of every port */
  struct rte_mbuf* waiting[MAX_PORTS][BURST];
  uint16_t nb_waiting[MAX_PORTS];
  uint64_t forwarded, dropped;
};

static struct port ports[MAX_PORTS];
static uint16_t nb_ports;
static struct worker workers[RTE_MAX_LCORE];
static struct page_arena* arena;
static struct rte_lpm* routes;
static atomic_bool over;
static atomic_uint_fast64_t received;
static uint64_t packets_wanted = UINT64_MAX;

static void end_at_signal(int number) {
  (void)number;
  atomic_store(&over, true);
}

static void die(const char* what, const char* why) {
  rte_exit(EXIT_FAILURE, "l3fwd_pools: %s: %s\n", what, why);
}

/* ---- the way of a frame ---------------------------------------------------------------------- */

static void send_waiting(struct worker* self, uint16_t port) {
  const uint16_t count = self->nb_waiting[port];
  if (count == 0) return;
  const uint16_t sent = rte_eth_tx_burst(port, self->tx_queue, self->waiting[port], count);
  self->forwarded += sent;
  self->dropped += count - sent;
  /* Frames of several queues wait here, so each goes back to its own pool. */
  if (sent < count) rte_pktmbuf_free_bulk(&self->waiting[port][sent], count - sent);
  self->nb_waiting[port] = 0;
}

/* The port a frame leaves by, with its header rewritten for the next hop, or NO_ROUTE. */
static uint32_t route(struct rte_mbuf* frame) {
  struct rte_ether_hdr* ether = rte_pktmbuf_mtod(frame, struct rte_ether_hdr*);
  struct rte_ipv4_hdr* ip = (struct rte_ipv4_hdr*)(ether + 1);
  uint32_t out = 0;
  if (rte_pktmbuf_data_len(frame) < sizeof *ether + sizeof *ip) return NO_ROUTE;
  if (ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) return NO_ROUTE;
  if (ip->time_to_live <= 1) return NO_ROUTE;
  if (rte_lpm_lookup(routes, rte_be_to_cpu_32(ip->dst_addr), &out) != 0) return NO_ROUTE;
  ip->time_to_live--;
  ip->hdr_checksum = 0;
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  rte_ether_addr_copy(&ports[out].mac, &ether->src_addr);
  return out;
}

static void poll_port(struct worker* self, const struct port* port, int node) {
  struct rte_mbuf* frames[BURST];
  struct rte_mbuf* drops[BURST];
  unsigned int nb_drops = 0;

  /* POOL: once per poll, before buffers are taken. One compare unless the lcore has moved. */
  page_pool_nid_changed(port->pool, node);

  const uint16_t count = rte_eth_rx_burst(port->id, 0, frames, BURST);
  if (count == 0) return;
  atomic_fetch_add_explicit(&received, count, memory_order_relaxed);
  for (uint16_t i = 0; i < count; i++) {
    const uint32_t out = route(frames[i]);
    if (out == NO_ROUTE) {
      drops[nb_drops++] = frames[i];
      continue;
    }
    self->waiting[out][self->nb_waiting[out]++] = frames[i];
    if (self->nb_waiting[out] == BURST) send_waiting(self, (uint16_t)out);
  }
  /* POOL: all came from this queue, so they go back in one call. */
  if (nb_drops > 0) page_pool_put_bulk(port->pool, drops, nb_drops);
  self->dropped += nb_drops;
}

static int work(void* unused) {
  const unsigned int lcore = rte_lcore_id();
  struct worker* self = &workers[lcore];
  (void)unused;

  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    const int node = page_pool_current_node(); /* no system call */
    for (uint16_t p = 0; p < nb_ports; p++) {
      if (ports[p].worker == lcore) poll_port(self, &ports[p], node);
    }
    for (uint16_t p = 0; p < nb_ports; p++)
      send_waiting(self, p);
    /* POOL: pages of other workers' queues that this one freed leave in bulk, none stays behind. */
    for (uint16_t p = 0; p < nb_ports; p++)
      page_pool_flush_returns(ports[p].pool);
    if (atomic_load_explicit(&received, memory_order_relaxed) >= packets_wanted) {
      atomic_store(&over, true);
    }
  }
  /* POOL: the consumer leaves, its cache goes back. */
  for (uint16_t p = 0; p < nb_ports; p++) {
    if (ports[p].worker == lcore) page_pool_release(ports[p].pool);
    page_pool_flush_returns(ports[p].pool);
  }
  return 0;
}

/* ---- before and after ------------------------------------------------------------------------ */

/* POOL: one arena with room for all queues on each node that a worker is on, since all may move. */
static void make_arena(void) {
  struct page_arena_node nodes[PAGE_POOL_MAX_NODES];
  uint32_t nb_nodes = 0;
  unsigned int lcore;

  RTE_LCORE_FOREACH_WORKER(lcore) {
    const int node = page_pool_lcore_node(lcore);
    uint32_t at = 0;
    while (at < nb_nodes && nodes[at].node != node)
      at++;
    if (at < nb_nodes) continue;
    nodes[nb_nodes].node = node;
    nodes[nb_nodes++].pages = nb_ports * PAGES_PER_PORT;
  }
  const struct page_arena_params params = {.name = "l3fwd",
                                           .data_room = RTE_MBUF_DEFAULT_BUF_SIZE,
                                           .nodes = nodes,
                                           .nb_nodes = nb_nodes};
  if (page_arena_create(&params, &arena) != 0) die("arena", page_pool_error());
}

static void make_pool(struct port* port) {
  char name[PAGE_POOL_NAME_MAX + 1];
  snprintf(name, sizeof name, "port%uq0", port->id);
  const struct page_pool_params params = {.name = name,
                                          .arena = arena,
                                          .node = page_pool_lcore_node(port->worker),
                                          .quota = PAGES_PER_PORT,
                                          .cache_size = 256};
  if (page_pool_create(&params, &port->pool) != 0) die(name, page_pool_error());
}

static void open_port(struct port* port, uint16_t nb_workers) {
  struct rte_eth_dev_info info;
  struct rte_eth_conf conf;
  int error = rte_eth_dev_info_get(port->id, &info);
  if (error != 0) die("a port does not say what it offers", rte_strerror(-error));
  if (info.max_tx_queues < nb_workers) die("a port has fewer TX queues than workers", "lower -l");
  memset(&conf, 0, sizeof conf);
  /* POOL: never RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE: a TX queue sees pages of several pools. */
  error = rte_eth_dev_configure(port->id, 1, nb_workers, &conf);
  if (error != 0) die("a port cannot be configured", rte_strerror(-error));
  const unsigned int node = (unsigned int)rte_eth_dev_socket_id(port->id);
  /* POOL: as a mempool like any other. */
  error =
      rte_eth_rx_queue_setup(port->id, 0, DESCRIPTORS, node, NULL, page_pool_mempool(port->pool));
  for (uint16_t q = 0; q < nb_workers && error == 0; q++) {
    error = rte_eth_tx_queue_setup(port->id, q, DESCRIPTORS, node, NULL);
  }
  if (error == 0) error = rte_eth_dev_start(port->id);
  if (error != 0) die("a port cannot be started", rte_strerror(-error));
  rte_eth_macaddr_get(port->id, &port->mac);
}

static void make_routes(void) {
  const struct rte_lpm_config config = {.max_rules = MAX_PORTS, .number_tbl8s = 8};
  routes = rte_lpm_create("l3fwd", SOCKET_ID_ANY, &config);
  if (routes == NULL) die("routes", rte_strerror(rte_errno));
  for (uint16_t p = 0; p < nb_ports; p++) {
    if (rte_lpm_add(routes, RTE_IPV4(198, 18, p, 0), 24, p) != 0)
      die("routes", "a rule is refused");
  }
}

static void set_up(void) {
  uint16_t id, nb_workers = 0;
  unsigned int lcore, list[RTE_MAX_LCORE];

  RTE_LCORE_FOREACH_WORKER(lcore) {
    workers[lcore].tx_queue = nb_workers;
    list[nb_workers++] = lcore;
  }
  if (nb_workers == 0) die("no worker", "give at least two lcores, as -l 0,1");
  RTE_ETH_FOREACH_DEV(id) {
    /* A port's place in the table is its id, which routes and TX use. */
    if (id != nb_ports || nb_ports == MAX_PORTS) die("ports", "their ids must be 0, 1, 2 ...");
    ports[nb_ports].id = id;
    ports[nb_ports].worker = list[nb_ports % nb_workers];
    nb_ports++;
  }
  if (nb_ports == 0) die("no port", "give -a PCI_ADDRESS or --vdev");
  make_arena();
  make_routes();
  for (uint16_t p = 0; p < nb_ports; p++) {
    make_pool(&ports[p]);
    open_port(&ports[p], nb_workers);
  }
}

/* Gives everything back; whether every page came home. */
static bool tear_down(void) {
  uint64_t pages = 0, home = 0;
  for (uint16_t p = 0; p < nb_ports; p++) {
    rte_eth_dev_stop(ports[p].id);
    rte_eth_dev_close(ports[p].id);
  }
  for (uint16_t p = 0; p < nb_ports; p++) {
    /* POOL: closing a port frees its rings on this lcore. */
    page_pool_flush_returns(ports[p].pool);
  }
  for (uint16_t p = 0; p < nb_ports; p++) {
    struct page_pool_stats stats;
    page_pool_get_stats(ports[p].pool, &stats);
    printf("pool %s: node %d, %" PRIu64 " pages taken from the arena, %" PRIu64
           " returned by rings, "
           "%" PRId64 " in flight\n",
           stats.name, stats.nid, stats.alloc_arena, stats.recycle_ring, stats.inflight);
    page_pool_destroy(ports[p].pool);
  }
  while (page_pool_service() > 0) {
    /* A pool lives until its last page is home; with a page lost, the books below tell. */
    static unsigned int tries;
    if (++tries == 1000000) break;
  }
  for (uint32_t i = 0; i < page_arena_nb_nodes(arena); i++) {
    struct page_arena_stats stats;
    if (page_arena_get_stats(arena, i, &stats) != 0) continue;
    pages += stats.pages;
    home += stats.free;
  }
  printf("the books %s: %" PRIu64 " of %" PRIu64 " pages are home\n",
         home == pages ? "balance" : "do not balance", home, pages);
  rte_lpm_free(routes);
  return page_arena_destroy(arena) == 0 && home == pages;
}

int main(int argc, char** argv) {
  uint64_t forwarded = 0, dropped = 0;
  unsigned int lcore;
  const int eal = rte_eal_init(argc, argv);
  if (eal < 0) die("the EAL does not start", rte_strerror(rte_errno));
  argc -= eal;
  argv += eal;
  if (argc == 3 && strcmp(argv[1], "--packets") == 0) {
    packets_wanted = strtoull(argv[2], NULL, 10);
  } else if (argc > 1) {
    die(argv[1], "the one option is --packets N");
  }
  signal(SIGINT, end_at_signal);
  signal(SIGTERM, end_at_signal);
  set_up();
  printf("%u ports are routed between\n", nb_ports);
  fflush(stdout);
  rte_eal_mp_remote_launch(work, NULL, SKIP_MAIN);
  rte_eal_mp_wait_lcore();
  RTE_LCORE_FOREACH_WORKER(lcore) {
    forwarded += workers[lcore].forwarded;
    dropped += workers[lcore].dropped;
  }
  printf("%" PRIu64 " received, %" PRIu64 " forwarded, %" PRIu64 " dropped\n",
         (uint64_t)atomic_load(&received), forwarded, dropped);
  const bool balanced = tear_down();
  rte_eal_cleanup();
  return balanced ? EXIT_SUCCESS : EXIT_FAILURE;
}
