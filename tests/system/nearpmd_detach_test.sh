#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is left when ports go: devices with several ports, lists that named them, pools whose last
# pages lie somewhere, ports that could not be set up.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# One device with two ports, which start, go and come together.
two_ports=net_ring5,nodeaction=first:0:CREATE,nodeaction=second:0:CREATE
begin "$three_lcores" --vdev="$two_ports" --vdev=net_null0 -- -i --hardened
check "a device with two ports: both are there" ask 'show port summary' '^1 .*net_ring5 .*started'
check "forwarding starts" ask 'start tx_first' '^nearpmd> start'
check "frames go round" ask_until 20 'show fwd stats all' '^port 1 .*: received [1-9]'
check "its ports do not go while one is started" ask 'port stop 1' '^nearpmd> port stop 1'
check "the sentence names that one" ask 'port detach 1' \
  '^nearpmd: port 1 is on device net_ring5 like port 0, which is started: port stop 0 first'
check "stop it" ask 'port stop 0' '^nearpmd> port stop 0'
check "detach: the first is gone" ask 'port detach 1' '^port 0 detached'
check "and the second" expect pmd '^port 1 detached' 5
check "neither is there" ask 'show port stats 1' '^nearpmd: there is no port 1: ports are 2'
check "the other device forwards on" ask_until 20 'show fwd stats all' '^port 2 .*: received [1-9]'
# Its driver keeps the rings, so these have other names.
check "another one comes" ask 'port attach net_ring6,nodeaction=third:0:CREATE,nodeaction=fourth:0:CREATE' \
  '^port 0 attached'
check "with both" expect pmd '^port 1 attached' 5
check "which start" ask 'port start all' '^nearpmd> port start all'
check "and are there" ask 'show port summary' '^1 .*started'
check "the books balance with two ports on a device" done_well 1

# A list of ports names what is in use, also when that has gone.
begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --portlist=1
check "start with a list" ask start '^nearpmd> start'
check "a port that is not in use has no queue to move" ask 'move rxq 0 0 lcore 2' \
  '^nearpmd: port 0 is not in use: ports in use are 1 \(--portlist\)'
check "stop the port that is in use" ask 'port stop 1' '^nearpmd> port stop'
check "detach it" ask 'port detach 1' '^port 1 detached'
nobody_polls() {
  send pmd 'show page_pool 0 0'
  expect pmd '^pool p0q0 ' 5 && [[ $line == *'polled by nobody'* ]]
}
check "the other one is not taken instead" nobody_polls
check "stop" ask stop '^nearpmd> stop'
check "start has nothing to start with, and says so" ask start \
  '^nearpmd: no port of those in use \(1\) is started: port start all, or set portlist'
check "a new port with that number" ask 'port attach net_null6' '^port 1 attached'
check "start the new one" ask 'port start 1' '^nearpmd> port start'
check "start again" ask start '^nearpmd> start'
check "it is in use" ask_until 20 'show fwd stats all' '^port 1 .*: received [1-9]'
check "another list" ask 'set portlist 0' '^nearpmd> set portlist'
check "is for the next start, and show config says that" ask 'show config' \
  '^portlist = 1, from the next start on 0 \(prompt\)'
check "stop tells of the port that forwarded" ask stop '^port 1 .*: received [1-9]'
check "the books balance with a list" done_well 1

# A pool whose last pages lie in a link of another port until that is closed, at the very end.
begin 0@0,1@1 --vdev=net_ring0 --vdev=net_null1 -- -i
check "start with a link" ask start '^nearpmd> start'
check "frames go into it" ask_until 20 'show fwd stats all' '^port 1 .*: received [1-9][0-9]{2}'
check "stop with a link" ask stop '^port 1'
check "the port stops" ask 'port stop 1' '^nearpmd> port stop'
check "and goes" ask 'port detach 1' '^port 1 detached'
check "its pool waits for the frames in the link" ask 'show dying' '^dying: pool p1q0 .*, [1-9][0-9]* pages still out'
check "which come home at the end" done_well

# A port stops and goes under load, and the last of its pages comes back between the two: gathered by
# a lcore to which no other of them will come.
touch "$work/hostage"
HOLD_HOSTAGE=$work/hostage HOLD_FRAMES=500 begin_hold "$three_lcores" -- -i --rxd=256 --txd=1024 --no-flush-rx
check "start with the hold PMD" ask start '^nearpmd> start'
check "frames pass" ask_until 20 'show fwd stats all' '^port 1 .*: received 500 = forwarded 500$'
check "port 0 stops while port 1 forwards" ask 'port stop 0' '^nearpmd> port stop 0'
rm "$work/hostage"
one_gathered() {
  send pmd 'show page_pool 0 0'
  expect pmd 'inflight' 5 && [[ $line == *' inflight 0;'* ]]
}
check "its last page comes back" wait_for 20 one_gathered
check "it goes while port 1 forwards" ask 'port detach 0' '^port 0 detached'
check "its pool is not kept by what a lcore gathered" ask_until 20 'show dying' '^no pool is dying'
check "the books balance after that" done_well

# A port that cannot be set up for want of EAL memory, in the midst of handing over.
nearpmd_command "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --rxq=32 --rxd=64 --txd=64 --total-num-pages=20000 \
  --forward-mode=redirect-cpu
start pmd "${command[@]/--in-memory/--no-huge}" # of which there never is more than was asked for
check "start with many queues" ask start '^nearpmd> start'
too_many_queues() {
  local port
  for ((port = 2; port < 12; port++)); do
    ask "port attach net_null$port" "^port $port attached" || return 1
    send pmd "port start $port"
    send pmd "show port summary"
    expect pmd "^nearpmd: pool p${port}q|^$port .*started" 20 || return 1
    [[ $line != *started ]] && return 0
  done
  return 1
}
check "a port too many: its pools find no memory" too_many_queues
check "stop takes that port as it is" ask stop '^port 0 .*: received'
check "and it is told of without pools" ask 'show page_pool all' '^pool p0q0'
check "the books balance without that port" done_well 1
tap_done
