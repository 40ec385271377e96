// SPDX-License-Identifier: BSD-3-Clause
// The frames that --tx-first and `start tx_first` send to set a loop going.
#include <rte_ip.h>
#include <rte_udp.h>

#include <cstring>

#include "control/engine.hpp"

namespace nearpool {
namespace {

constexpr uint16_t kFrameBytes = 60;  // 64 with the CRC

struct Frame {
  rte_ether_hdr ethernet;
  rte_ipv4_hdr ip;
  rte_udp_hdr udp;
};
static_assert(sizeof(Frame) == 14 + 20 + 8);

Frame make_frame(const Port& port, const Options& options) {
  Frame frame{};
  const auto peer = options.eth_peer.find(port.id());
  const MacAddress to = peer != options.eth_peer.end()
                            ? peer->second
                            : MacAddress{2, 0, 0, 0, 0, static_cast<uint8_t>(port.id())};
  std::memcpy(frame.ethernet.dst_addr.addr_bytes, to.data(), to.size());
  std::memcpy(frame.ethernet.src_addr.addr_bytes, port.mac().data(), port.mac().size());
  frame.ethernet.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  frame.ip.version_ihl = 0x45;
  frame.ip.total_length = rte_cpu_to_be_16(kFrameBytes - sizeof(rte_ether_hdr));
  frame.ip.time_to_live = 64;
  frame.ip.next_proto_id = IPPROTO_UDP;
  // Addresses for benchmarks (RFC 2544) and the discard port.
  frame.ip.src_addr = rte_cpu_to_be_32(RTE_IPV4(198, 18, 0, 1));
  frame.ip.dst_addr = rte_cpu_to_be_32(RTE_IPV4(198, 18, 0, 2));
  frame.ip.hdr_checksum = rte_ipv4_cksum(&frame.ip);
  frame.udp.src_port = rte_cpu_to_be_16(9);
  frame.udp.dst_port = rte_cpu_to_be_16(9);
  frame.udp.dgram_len =
      rte_cpu_to_be_16(kFrameBytes - sizeof(rte_ether_hdr) - sizeof(rte_ipv4_hdr));
  return frame;
}

}  // namespace

uint64_t send_first(const Port& port, const Options& options, unsigned bursts) {
  if (port.rx_queues().empty()) return 0;
  const Frame frame = make_frame(port, options);
  rte_mempool* pool = port.rx_queues().front()->buffers->mempool();
  rte_mbuf* burst[kMaxBurst];
  uint64_t total = 0;
  for (const auto& queue : port.tx_queues()) {
    for (unsigned i = 0; i < bursts; i++) {
      if (rte_pktmbuf_alloc_bulk(pool, burst, options.burst) != 0) break;
      for (unsigned k = 0; k < options.burst; k++) {
        char* data = rte_pktmbuf_append(burst[k], kFrameBytes);
        if (data == nullptr) continue;  // cannot be: --mbuf-size is at least 256
        std::memset(data, 0, kFrameBytes);
        std::memcpy(data, &frame, sizeof frame);
      }
      const unsigned sent = queue->send(burst, options.burst);
      rte_pktmbuf_free_bulk(burst + sent, options.burst - sent);
      total += sent;
    }
  }
  page_pool* pages = port.rx_queues().front()->buffers->pool();
  if (pages != nullptr) page_pool_flush_returns(pages);
  return total;
}

}  // namespace nearpool
