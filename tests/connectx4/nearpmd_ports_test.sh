#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nearpmd on the genuine mlx5 driver: ports stop, start, go and come while frames pour in.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
# Ports 0 and 1 are a pair between which frames go round. Ports 2 and 3 get a capture for ever, as
# fast as they take it.
source_wire="pcap:in=$data_dir/capture.pcap:repeat=0"
below+=(--ports 4 --wire "2=$source_wire" --wire "3=$source_wire:out=/dev/null")

# counts PORT NAME: leaves an extended statistic in $value.
counts() {
  ask "show port xstats $1" "^  $2: [0-9]+" && value=${line##*: }
}
grows() { # PORT NAME
  local before
  counts "$1" "$2" && before=$value && counts "$1" "$2" && ((value > before))
}
received() { ask 'show fwd stats all' "^port $1 .*: received [0-9]+" && [[ $line =~ received\ ([0-9]+) ]] && value=${BASH_REMATCH[1]}; }
comes_in() { # PORT
  local before
  received "$1" && before=$value && received "$1" && ((value > before))
}
filtered() { # PORT: more frames reach the port than get to the program, which are those for all
  local arrived got
  counts "$1" rx_phy_packets && arrived=$value && received "$1" && got=$value &&
    wait_for 5 grows "$1" rx_phy_packets && received "$1" && got=$((value - got)) &&
    counts "$1" rx_phy_packets && ((2 * got < value - arrived))
}
load_lines() { # LAST_COMMAND REGEX SECONDS: what is in $work/lines, and a last one that shows its end
  echo "$1" >>"$work/lines"
  send pmd "load $work/lines"
  expect pmd "$2" "$3"
}

begin "$three_lcores" -- -i --hardened --rxd=256 --numa-map=1:0,2:1
check "forwarding starts" ask "$start_text" "^nearpmd> $start_text"
for port in 0 1 2 3; do check "port $port brings frames" wait_for 20 comes_in "$port"; done

for ((i = 0; i < 100; i++)); do printf 'port stop 2\nport start 2\n'; done >"$work/lines"
check "a port stops and starts 100 times under load" load_lines 'show port summary' '^2 .*up +started' 240
check "it brings frames again" wait_for 20 comes_in 2
for ((i = 0; i < 100; i++)); do printf 'stop\nstart\n'; done >"$work/lines"
check "forwarding stops and starts 100 times under load" load_lines 'show numa' '^topology: emulated' 240
check "frames come in again" wait_for 20 comes_in 3

for turn in 1 2 3; do
  check "detach under load, turn $turn: stop" ask 'port stop 2' '^nearpmd> port stop 2'
  check "detach" ask 'port detach 2' '^port 2 detached'
  check "the others go on" wait_for 20 comes_in 3
  check "attach" ask 'port attach 0000:81:01.0' '^port 2 attached: 0000:81:01.0'
  check "start" ask 'port start 2' '^nearpmd> port start 2'
  check "it brings frames" wait_for 20 comes_in 2
  check "its queue moves to the other node" ask 'move rxq 2 0 lcore 2' 'port 2 queue 0: lcore'
done
check "attach what there is not" ask 'port attach 0000:81:07.0' "device '0000:81:07.0' cannot be attached"

# The capture's frames are for others, but for a few that are for all.
check "not promiscuous" ask 'set promisc 2 off' '^nearpmd> set promisc 2 off'
check "frames for others stay out" wait_for 20 filtered 2
check "promiscuous" ask 'set promisc 2 on' '^nearpmd> set promisc 2 on'
check "they come in" wait_for 20 comes_in 2
check "the device's own counters" counts 2 rx_out_of_buffer
check "the filter's" counts 2 rx_unicast_packets

check "stop all" ask stop '^port 3'
check "ports too" ask 'port stop all' '^nearpmd> port stop all'
check "two queues each" ask 'port config all rxq 2' '^nearpmd> port config all rxq 2'
check "start again" ask 'port start all' '^nearpmd> port start all'
check "and forwarding" ask start '^nearpmd> start'
for queue in 0 1; do
  check "flows of the capture go to queue $queue of port 3" wait_for 20 grows 3 "rx_q${queue}_packets"
done
check "one of them moves" ask 'move rxq 3 1 lcore 2' 'port 3 queue 1: lcore'
check "and is polled there" wait_for 20 grows 3 rx_q1_packets
send pmd 'show page_pool all'
check "no page was misrouted" expect pmd 'misrouted 0, misuse 0$' 10
# Not stopped first. One command was wrong.
check "exit under load: the books balance" done_well 1

for signal in INT TERM; do
  begin "$three_lcores" -- --hardened --tx-first --stats-period=1
  check "frames pour in" expect pmd '^port 2 .*: received [1-9]' 30
  stop pmd "$signal"
  check "SIG$signal under load: the books balance" expect pmd '^the books balance' 30
  check "and the exit code says so" finish pmd 0 30
done
tap_done
