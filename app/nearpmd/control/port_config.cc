// SPDX-License-Identifier: BSD-3-Clause
#include "control/port_config.hpp"

#include <algorithm>

#include "datapath/checksum.hpp"

namespace nearpool {
namespace {

uint32_t fit_descriptors(const rte_eth_desc_lim& limits, uint32_t wanted) {
  const uint32_t align = std::max<uint32_t>(limits.nb_align, 1);
  uint32_t count = (wanted + align - 1) / align * align;
  if (limits.nb_max != 0) count = std::min<uint32_t>(count, limits.nb_max);
  return std::max<uint32_t>(count, limits.nb_min);
}

}  // namespace

Result<PortShape> fit_shape(uint16_t id, const std::string& driver, const rte_eth_dev_info& info,
                            const PortSettings& settings) {
  PortShape shape;
  if (settings.rxq > info.max_rx_queues) {
    return failure("--rxq {}: port {} ({}) has at most {} RX queues", settings.rxq, id, driver,
                   info.max_rx_queues);
  }
  if (settings.txq_chosen && settings.txq > info.max_tx_queues) {
    return failure("--txq {}: port {} ({}) has at most {} TX queues", settings.txq, id, driver,
                   info.max_tx_queues);
  }
  const uint32_t shortest = info.min_mtu + kFrameOverhead;
  if (settings.max_pkt_len != 0 &&
      (settings.max_pkt_len < std::max<uint32_t>(shortest, RTE_ETHER_MIN_LEN) ||
       settings.max_pkt_len > info.max_rx_pktlen)) {
    return failure("--max-pkt-len {}: port {} ({}) takes {} to {} bytes", settings.max_pkt_len, id,
                   driver, std::max<uint32_t>(shortest, RTE_ETHER_MIN_LEN), info.max_rx_pktlen);
  }
  if (settings.max_pkt_len > settings.frame_room &&
      (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) == 0 && info.min_rx_bufsize != 0) {
    return failure(
        "--max-pkt-len {}: port {} ({}) cannot spread a frame over several buffers, and one holds "
        "{} "
        "bytes: raise --mbuf-size",
        settings.max_pkt_len, id, driver, settings.frame_room);
  }
  shape.rxq = settings.rxq;
  shape.txq = std::min<uint32_t>(settings.txq, std::max<uint32_t>(info.max_tx_queues, 1));
  // net_tap pairs its queues and refuses unequal numbers. net_ring sends into the ring of the RX
  // queue with the same number, where nobody would look for the frames of more.
  if (driver == "net_tap" || driver == "net_ring") shape.txq = shape.rxq;
  shape.rxd = fit_descriptors(info.rx_desc_lim, settings.rxd);
  shape.txd = fit_descriptors(info.tx_desc_lim, settings.txd);
  return shape;
}

rte_eth_conf port_conf(const rte_eth_dev_info& info, const PortSettings& settings,
                       const PortShape& shape) {
  rte_eth_conf conf{};
  if (settings.max_pkt_len != 0) conf.rxmode.mtu = settings.max_pkt_len - kFrameOverhead;
  if (settings.max_pkt_len > settings.frame_room) {
    conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
  }
  conf.rxmode.offloads |= info.rx_offload_capa & kRxChecksumOffloads;
  // Any port may deliver chains and frames without checksums, one that is attached later too.
  conf.txmode.offloads |=
      info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | kTxChecksumOffloads);
  const uint64_t hash =
      info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
  if (shape.rxq > 1 && hash != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = hash;
  }
  return conf;
}

}  // namespace nearpool
