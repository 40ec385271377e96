#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's own testpmd, which knows nothing of the pool, on the plugin: every forwarding mode, with
# and without its mbuf cache, on one and on two lcores, with the transmit offloads it turns on by
# itself and with none, one to five segments; and at the end every buffer is back.
# The device is the argument: null, ring, pcap or veth.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/system/testpmd.sh
. "$(dirname "$0")/testpmd.sh"
device=$1

segments() {
  local count sizes=64
  for ((count = 1; count <= 5; count++)); do
    send pmd "set txpkts $sizes"
    sizes+=,100
    forward txonly || return 1
    # What is in the rings comes out again, and is dropped.
    [[ $device != ring ]] || forward rxonly || return 1
  done
  send pmd 'set txpkts 64'
}

session() {
  local name="$device, $1, $2 lcores, offloads $3" cores=$2 start=() i
  testpmd_on_plugin 256 "0,1,2" || return 1
  place_lcores '0@0,(1-2)@(0-1)'
  case $device in
    null) start+=(--vdev=net_null0 --vdev=net_null1) ;;
    ring) start+=(--vdev=net_ring0 --vdev=net_ring1) ;;
    pcap)
      for i in 0 1; do
        start+=("--vdev=net_pcap$i,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1")
      done
      ;;
    veth) start+=("--vdev=net_af_packet0,iface=left" "--vdev=net_af_packet1,iface=right") ;;
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
  end_testpmd "$name"
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
