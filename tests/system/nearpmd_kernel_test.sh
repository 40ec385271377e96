#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With the kernel's network: veth and net_af_packet, and pass through net_tap.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_root
need_program ip
need_program ping
new_namespace
veth_pair "$namespace" left0 left1
veth_pair "$namespace" right0 right1

# Two hosts in namespaces of their own, nearpmd between them.
left=$namespace
new_namespace
right=$namespace
ip -n "$left" link set right0 netns "$right"
ip -n "$left" address add 192.0.2.1/24 dev left0
ip -n "$right" address add 192.0.2.2/24 dev right0
ip -n "$right" link set right0 up
ip -n "$left" link set right1 up

nearpmd_command "$three_lcores" --vdev=net_af_packet0,iface=left1 --vdev=net_af_packet1,iface=right1 \
  -- -i --auto-start
start pmd ip netns exec "$left" "${command[@]}"
check "it starts" ask 'show port summary' '^1 .*net_af_packet'
check "ping through nearpmd" inside "$left" ping -q -c 3 -i 0.2 -W 10 192.0.2.2
check "with 1,400 bytes" inside "$left" ping -q -c 2 -i 0.2 -W 10 -s 1400 -M 'do' 192.0.2.2
check "the frames are counted" ask 'show fwd stats all' '^port 0 .*: received [1-9][0-9]* = forwarded [1-9]'
check "promiscuous mode" ask 'set promisc 0 off' '^nearpmd> set promisc'
check "is off then" ask 'show port info 0' 'promiscuous mode off'
check "the books balance" done_well

# pass: what comes in on the wire goes to the kernel, through a tap, and the answers back.
nearpmd_command "$three_lcores" --vdev=net_af_packet0,iface=left1 --vdev=net_tap0,iface=exception0 \
  -- -i --forward-mode=pass
start pmd ip netns exec "$left" "${command[@]}"
check "where frames will go" ask 'show config fwd' 'port 0 queue 0 -> port 1$'
check "start" ask start '^nearpmd> start'
ip -n "$left" link set exception0 netns "$right"
ip -n "$right" address flush dev right0
ip -n "$right" address add 192.0.2.2/24 dev exception0
ip -n "$right" link set exception0 up
ip -n "$left" neighbour flush all # another MAC has the address now
check "ping the kernel behind the tap" wait_for 20 inside "$left" ping -q -c 1 -W 1 192.0.2.2
check "a whole MTU" inside "$left" ping -q -c 1 -W 10 -s 1472 -M 'do' 192.0.2.2
check "the port was asked for checksums" ask 'show port info 1' 'RX offloads:.* IPV4_CKSUM'
# A frame whose checksum is wrong comes from the kernel's side: it is seen, counted and not dropped.
wrong_checksum() {
  inside "$right" python3 - <<'PY'
import socket
header = bytes.fromhex("020000000009" "020000000008" "0800" "4500002e" "00000000" "4011dead" "c6120001" "c6120002")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind(("exception0", 0))
    link.send(header + bytes(26))
PY
}
check "a frame with a wrong checksum goes in" wrong_checksum
check "it is counted, and not dropped" ask_until 20 'show fwd stats all' '^  bad checksum: [1-9][0-9]* \(not dropped\)'
# The tap's own signals, and others, in the midst of traffic.
for ((i = 0; i < 300; i++)); do stop pmd USR1; stop pmd WINCH; stop pmd USR2; done
check "a storm of signals leaves it be" inside "$left" ping -q -c 3 -i 0.2 -W 10 192.0.2.2
check "the books balance after pass" done_well

tap_done
