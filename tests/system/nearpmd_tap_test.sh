#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# net_tap and the verdict pass: frames up to the MTU both ways and none beyond it, taps until the
# pages are out, and a tap whose pool runs out under traffic and comes back.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_root
need_program ip
need_program ping

# Two hosts, each in a namespace of its own; nearpmd between them. The driver of a tap calls it by its
# name, so what is set of it at the prompt is set before it goes to another namespace.
new_namespace
middle=$namespace
new_namespace
wire=$namespace
new_namespace
kernel=$namespace
# give INTERFACE NAMESPACE ADDRESS
give() {
  ip -n "$middle" link set "$1" netns "$2" && ip -n "$2" address add "$3/24" dev "$1" && ip -n "$2" link set "$1" up
}
from_wire() { inside "$wire" ping -c "${pings:-1}" -W 10 "$@" 192.0.2.2; }
from_kernel() { inside "$kernel" ping -c "${pings:-1}" -W 10 "$@" 192.0.2.1; }
in_a_row() { pings=200 "$1" -q -s 1472 -M 'do' -i 0.002 | tee "$work/ping" | grep ' 200 received'; }
# too_long FROM SIZE: the sender's own kernel refuses it.
too_long() { ! "$1" -s "$2" -M 'do' >"$work/ping" 2>&1 && grep -i 'message too long' "$work/ping"; }

nearpmd_command "$three_lcores" --vdev=net_tap0,iface=tap0 --vdev=net_tap1,iface=tap1 \
  -- -i --forward-mode=pass --pass-map=0:1
start pmd ip netns exec "$middle" "${command[@]}"
check "start" ask start '^nearpmd> start'
check "a tap is the wire" give tap0 "$wire" 192.0.2.1
check "the other one is the kernel's" give tap1 "$kernel" 192.0.2.2
check "frames pass" wait_for 20 from_wire -W 1
for from in from_wire from_kernel; do
  check "$from: a whole MTU" "$from" -s 1472 -M 'do'
  check "$from: one byte more is refused by the sender" too_long "$from" 1473
  check "$from: in fragments it passes" "$from" -s 4000 -M dont
  check "$from: 200 whole MTUs in a row, and none is lost" in_a_row "$from"
done
check "the books balance" done_well

# A smaller MTU of the tap: what the wire may send is too long for it, and stops nothing else.
# (The kernel puts fragments together for net_af_packet.)
veth_pair "$wire" host0 port0
ip -n "$wire" address add 192.0.2.1/24 dev host0
nearpmd_command "$three_lcores" --vdev=net_af_packet0,iface=port0 --vdev=net_tap0,iface=tap0 \
  -- -i --forward-mode=pass
middle=$wire
start pmd ip netns exec "$wire" "${command[@]}"
check "stop the tap" ask 'port stop 1' '^nearpmd> port stop'
check "an MTU" ask 'port config mtu 1 1000' '^port 1: MTU 1000$'
check "an MTU of another port that its driver refuses" ask 'port stop 0' '^nearpmd> port stop'
check "is refused" ask 'port config mtu 0 50' '^nearpmd: port 0 .*refuses an MTU of 50: '
check "one beyond what a port takes is refused in its own words" ask 'port config mtu 1 9000' \
  '^nearpmd: port 1: an MTU of 9000 makes frames of 9018 bytes, and .* takes 64 to 1522 bytes'
check "all ports start all the same" ask 'port start all' '^nearpmd> port start all'
check "a port keeps its MTU" ask 'show port info 1' 'MTU 1000,'
check "and the other one its own" ask 'show port info 0' 'MTU 1500,'
kernel_says() { ip -n "$wire" link show dev tap0 | grep ' mtu 1000 '; }
check "the kernel has it too" kernel_says
check "start with it" ask start '^nearpmd> start'
check "the tap is the kernel's again" give tap0 "$kernel" 192.0.2.2
check "frames pass again" wait_for 20 from_wire -W 1
check "from_kernel: a whole MTU of 1000" from_kernel -s 972 -M 'do'
check "from_kernel: one byte more is refused by the sender, MTU 1000" too_long from_kernel 973
check "from_wire: as much passes" from_wire -s 972 -M 'do'
check "from here on" ask 'clear fwd stats all' '^nearpmd> clear'
# A burst in which every other frame is too long for the tap; the others get through.
burst() {
  inside "$wire" python3 - <<'PY'
import socket
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind(("host0", 0))
    for number in range(200):
        link.send(bytes.fromhex("ffffffffffff020000000001") + b"\x88\xb5" + bytes(1400 if number % 2 else 100))
PY
}
check "every other frame is too long" burst
check "those are dropped by name, the others pass" ask_until 20 'show fwd stats all' \
  '^port 0 .*: received (2[0-9]{2}) = forwarded 1[0-9]{2} \+ oversize 100$'
check "the books balance with frames too long" done_well 1

# Taps until the pages are out: the one too many is refused in numbers, and the others go on.
begin_tap() {
  hold_command "$three_lcores" --vdev=net_tap0,iface=tap0 --vdev=net_null_hold0 -- -i "$@"
  start pmd ip netns exec "$wire" "${command[@]}"
}
HOLD_FRAMES=0 begin_tap --rxd=256 --total-num-pages=2048
check "start with taps to come" ask start '^nearpmd> start'
check "a tap comes" ask 'port attach net_tap9,iface=tap9' '^port 2 attached'
check "its MTU is chosen before its start" ask 'port config mtu 2 900' '^port 2: MTU 900$'
check "it starts" ask 'port start 2' '^nearpmd> port start 2'
check "with that MTU" ask 'show port info 2' 'MTU 900,'
kernel_says_900() { ip -n "$wire" link show dev tap9 | grep ' mtu 900 '; }
check "which the kernel knows" kernel_says_900
check "stop all" ask 'port stop all' '^nearpmd> port stop all'
check "other numbers for all ports" ask 'port config all rxd 240' '^nearpmd> port config'
check "start all" ask 'port start all' '^nearpmd> port start all'
check "leave it its MTU" ask 'show port info 2' 'MTU 900,'
check "stop it" ask 'port stop 2' '^nearpmd> port stop 2'
check "it goes" ask 'port detach 2' '^port 2 detached'
one_too_many() {
  for ((extra = 2; extra < 12; extra++)); do
    ask "port attach net_tap$extra,iface=tap$extra" "^port $extra attached" || return 1
    send pmd "port start $extra"
    send pmd "show port summary"
    expect pmd "^nearpmd: port $extra .* refused|^$extra .*started" 20 || return 1
    [[ $line != *started ]] && return 0
  done
  return 1
}
check "a tap too many is not started" one_too_many
says_numbers() { [[ $line =~ 'RX queue 0 of 240 descriptors on pool p'[0-9]+'q0 is refused: '.*'its ring needs 240 pages, and there are '[0-9]+' free of 2'[0-9]+' per node'.*--total-num-pages ]] || { echo "$line"; return 1; }; }
check "it says how many pages it needs and how many there are" says_numbers
check "it is not shown as started" ask 'show port summary' "^$extra .*stopped"
check "the books balance without it" done_well 1

# Frames from the tap lie in a TX ring that is stuck, until the tap's pool has no page left; then
# the ring goes on, and so does the tap.
touch "$work/stalled"
HOLD_STALLED=$work/stalled HOLD_FRAMES=0 begin_tap --forward-mode=pass --rxd=256 --txd=4096 --pool-quota=1024
check "start before a drought" ask start '^nearpmd> start'
ip -n "$wire" link set tap0 up
# send_frames COUNT: through the kernel's side of the tap.
send_frames() {
  inside "$wire" python3 - "$1" <<'PY'
import socket
import sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind(("tap0", 0))
    for _ in range(int(sys.argv[1])):
        link.send(bytes.fromhex("020000000001020000000002") + b"\x88\xb5" + bytes(100))
PY
}
dry() {
  send_frames 50
  send pmd 'show port stats 0'
  expect pmd '^port 0: RX-packets' 5 && [[ $line =~ RX-nombuf\ [1-9] ]]
}
check "the tap's pool runs out under traffic" wait_for 30 dry
check "our own counter says so too" ask 'show page_pool 0 0' '^  alloc: .*failed [1-9]'
in_the_ring() {
  send pmd 'show page_pool 0 0'
  expect pmd 'owned 1024 = .*inflight 1024; quota 1024' 5
}
check "all its pages are out" wait_for 20 in_the_ring
check "the other port has its own" ask 'show page_pool 1 0' 'alloc: .*failed 0,'
rm "$work/stalled"
comes_back() {
  send pmd 'show page_pool 0 0'
  expect pmd 'inflight' 5 && [[ $line =~ inflight\ ([0-9]+) ]] && ((BASH_REMATCH[1] <= 300))
}
check "the ring goes on and the pages come back" wait_for 20 comes_back
check "from here on, after the drought" ask 'clear fwd stats all' '^nearpmd> clear'
check "frames go in again" send_frames 200
check "and come through by themselves, each of them" ask_until 20 'show fwd stats all' \
  '^port 0 .*: received ([2-9][0-9]{2}|[0-9]{4,}) = forwarded \1$'
check "the books balance after a drought" done_well
tap_done
