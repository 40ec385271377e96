#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's own testpmd, which knows nothing of the pool, on the plugin: every forwarding mode, with
# and without its mbuf cache, on one and on two lcores, with the transmit offloads it turns on by
# itself and with none, one to five segments; and at the end every buffer is back.
# The device is the argument: null, ring, pcap or veth.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
device=$1
buffers=8192

# A line of testpmd's table; RX-packets or TX-packets, the sum of all ports above $2.
moved() {
  send pmd 'show fwd stats all'
  expect pmd 'Accumulated forward statistics for all ports' 5 || return 1
  expect pmd "$1-packets: *[0-9]+" 5 || return 1
  # shellcheck disable=SC2154 # set by expect
  [[ $line =~ $1-packets:\ *([0-9]+) ]] && ((BASH_REMATCH[1] > $2))
}

# Everything is in the pool or in a cache of it, as rte_mempool_dump() sees it.
all_back() {
  local cached=0 common
  send pmd 'dump_mempool mb_pool_0'
  expect pmd 'cache_size=' 5 || return 1
  if [[ $line != *cache_size=0 ]]; then
    expect pmd 'total_cache_count=' 5 || return 1
    cached=${line#*total_cache_count=}
  fi
  expect pmd 'common_pool_count=' 5 || return 1
  common=${line#*common_pool_count=}
  echo "cached $cached, common $common of $buffers"
  ((cached + common == buffers))
}

forward() {
  local mode=$1 what=TX start=start
  [[ $mode == rxonly ]] && what=RX
  # Devices that only receive what was sent need something to begin with.
  [[ $device =~ ring|veth && $mode =~ io|macswap ]] && start='start tx_first 2'
  send pmd "set fwd $mode"
  expect pmd "Set $mode packet forwarding mode" 10 || return 1
  send pmd "$start"
  wait_for 20 moved "$what" 63 || return 1
  send pmd stop
  expect pmd '^Done\.' 20
}

segments() {
  local count sizes=64
  for count in 1 2 3 4 5; do
    send pmd "set txpkts $sizes"
    sizes+=,100
    forward txonly || return 1
    # What is in the rings comes out again, and is dropped.
    [[ $device != ring ]] || forward rxonly || return 1
  done
  send pmd 'set txpkts 64'
}

session() {
  local name="$device, $1, $2 lcores, offloads $3" cores=$2 start=()
  testpmd_on_plugin 256 "0,1,2" || return 1
  # Two forwarding lcores float over both CPUs.
  testpmd=("${testpmd[@]/#0,1,2/0,1,2}")
  local i
  for i in "${!testpmd[@]}"; do
    [[ ${testpmd[i]} == -l ]] && testpmd[i]=--lcores && testpmd[i + 1]='0@0,(1-2)@(0-1)'
  done
  case $device in
    null) start+=(--vdev=net_null0 --vdev=net_null1) ;;
    ring) start+=(--vdev=net_ring0 --vdev=net_ring1) ;;
    pcap)
      for i in 0 1; do
        start+=("--vdev=net_pcap$i,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1")
      done
      ;;
    veth) start+=(--vdev=net_af_packet0,iface=left --vdev=net_af_packet1,iface=right) ;;
  esac
  start+=(-- -i "--total-num-mbufs=$buffers" "--nb-cores=$cores" --no-flush-rx)
  [[ $1 == cached ]] || start+=(--mbcache=0)
  [[ $3 == default ]] || start+=("--tx-offloads=$3")
  local before=()
  [[ $device != veth ]] || before=(ip netns exec "$namespace")
  start pmd "${before[@]}" "${testpmd[@]}" "${start[@]}"
  check "$name: starts" expect pmd '^testpmd> ' 60 || return 1
  for i in io macswap txonly flowgen rxonly; do
    check "$name: $i" forward "$i" || break
  done
  # Interfaces of the kernel take one segment.
  [[ $device == veth || $3 == 0 ]] || check "$name: one to five segments" segments
  [[ $device != ring ]] || check "$name: the rings run dry" forward_dry
  send pmd 'port stop all'
  check "$name: ports stop" expect pmd 'Done' 20
  send pmd 'port close all'
  check "$name: ports close" expect pmd 'Done' 20
  check "$name: every buffer is back" wait_for 5 all_back
  send pmd quit
  check "$name: ends well" finish pmd 0 20
}

# Until no more comes out.
forward_dry() {
  send pmd 'set fwd rxonly'
  send pmd start
  wait_for 10 rings_empty || return 1
  send pmd stop
  expect pmd '^Done\.' 20
}
rings_empty() {
  local before
  moved RX -1 || return 1
  before=$line
  moved RX -1 || return 1
  [[ $before == "$line" ]]
}

need_root
need_program dpdk-testpmd
if [[ $device == veth ]]; then
  new_namespace
  veth_pair "$namespace" left right
fi
session cached 1 default
session uncached 1 default
session cached 2 0
session uncached 2 0
tap_done
