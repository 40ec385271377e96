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
check "the books balance after pass" done_well
tap_done
