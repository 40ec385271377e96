#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On each virtual device, and on mlx5 where the ports are such: frames pass, a port stops and starts
# under load, the program ends under load; no page is missing then.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# under_load NAME MODE arguments...: two ports on which frames never end.
under_load() {
  local name="$1, $2" mode=$2 i
  begin "$three_lcores" "${@:3}" -- -i --hardened "--forward-mode=$mode" --auto-start --tx-first --rxd=256 --txd=256
  check "$name: frames pass" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
  for i in 1 2 3; do
    check "$name: port 1 stops under load, turn $i" ask 'port stop 1' '^nearpmd> port stop'
    check "$name: and starts" ask 'port start 1' '^nearpmd> port start'
  done
  check "$name: forwarding stops" ask stop '^port 0'
  check "$name: and goes on" ask 'start tx_first' '^nearpmd> start'
  check "$name: frames pass again" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
  stop pmd TERM
  check "$name: the end under load" expect pmd '^the books balance' 30
  check "$name: exit code" finish pmd 0 30
}

# Frames that never end come to mlx5 from a capture.
if [[ $port_driver == mlx5_pci ]]; then
  below+=(--wire "pcap:in=$data_dir/capture.pcap:repeat=0:out=/dev/null")
  for mode in drop tx redirect redirect-cpu; do under_load mlx5 "$mode"; done
  tap_done
fi

for mode in drop tx redirect redirect-cpu; do
  under_load net_null "$mode" --vdev=net_null0 --vdev=net_null1
done
under_load net_pcap redirect --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1" \
  --vdev="net_pcap1,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1"
# A file that is replayed a million frames long.
begin "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1" \
  --vdev=net_null1 -- -i --forward-mode=drop --auto-start --no-flush-rx
check "a capture is replayed for ever" ask_until 60 'show fwd stats all' '^port 0 .*: received [1-9][0-9]{6,}'
check "the books balance after a million" done_well
under_load net_ring redirect --vdev=net_ring0 --vdev=net_ring1

# Bulks that are never full when it stops, handed from lcore to lcore; then the same with chains.
begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --hardened --forward-mode=redirect-cpu --pool-bulk=512
for i in 1 2 3; do
  check "half-full bulks, turn $i: start" ask start '^nearpmd> start'
  check "half-full bulks, turn $i: frames pass" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
  check "half-full bulks, turn $i: stop" ask stop '^port 0 .*: received'
  check "half-full bulks, turn $i: from here on" ask 'clear fwd stats all' '^nearpmd> clear'
done
check "the books balance after half-full bulks" done_well
run "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" \
  --vdev="net_pcap1,rx_pcap=$data_dir/odd_sizes.pcap,tx_pcap=/dev/null" -- --hardened \
  --forward-mode=redirect-cpu --pool-bulk=512 --mbuf-size=256
check "half-full bulks of chains" said 'handed over: received 2000 = forwarded 2000$'
check "the books balance after half-full bulks of chains" ended 0

# Ports of several kinds in one program, each with pools of its own.
if [[ $(id -u) -eq 0 ]] && command -v ip >/dev/null; then
  new_namespace
  veth_pair "$namespace" left right
  nearpmd_command "$three_lcores" --vdev=net_null0 --vdev=net_af_packet0,iface=left \
    --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null,infinite_rx=1" \
    --vdev=net_af_packet1,iface=right --vdev=net_tap0 --vdev=net_ring0 -- -i --hardened --auto-start \
    --port-topology=chained --rxd=256 --txd=256
  start pmd ip netns exec "$namespace" "${command[@]}"
  for port in 0 1 2 3; do
    check "mixed ports: port $port brings frames" ask_until 30 'show fwd stats all' "^port $port .*: received [1-9]"
  done
  for port in 1 3 4 5; do
    check "mixed ports: port $port stops under load" ask "port stop $port" '^nearpmd> port stop'
    check "mixed ports: port $port starts" ask "port start $port" '^nearpmd> port start'
  done
  stop pmd TERM
  check "mixed ports: the end under load" expect pmd '^the books balance' 30
  check "mixed ports: exit code" finish pmd 0 30
fi

# Sixteen lcores on two cores.
begin '0@0,(1-15)@(0-1)' --vdev=net_null0 --vdev=net_null1 -- -i --auto-start --rxq=8 --hardened
check "16 lcores: frames pass" ask_until 20 'show fwd stats all' '^port 1 .*: received [1-9]'
check "16 lcores: the last one polls" ask_until 20 'show rxq' '^lcore 15 node'
check "16 lcores: its queue" expect pmd '^  port 1 queue [0-9]: ' 5
check "16 lcores: the books balance" done_well

tap_done
