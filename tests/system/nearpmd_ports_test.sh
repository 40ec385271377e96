#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ports stop, start, come and go while others forward.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
begin 0@0,1@1 --vdev=net_null0 --vdev=net_null1 -- -i --hardened
check "start" ask start '^nearpmd> start'
for ((i = 0; i < 1000; i++)); do printf 'port stop 0\nport start 0\n'; done >"$work/restarts"
echo 'show port summary' >>"$work/restarts"
send pmd "load $work/restarts"
check "a port stops and starts 1000 times while it is polled" expect pmd '^0 .*started' 200
check "the books balance after that" done_well

# The same where TX rings are looked at by the status of their descriptors.
begin_hold 0@0,1@1 -- -i --hardened --rxd=256 --txd=256
check "start with TX rings that hold" ask start '^nearpmd> start'
head -n 600 "$work/restarts" >"$work/fewer"
echo 'show port summary' >>"$work/fewer"
send pmd "load $work/fewer"
check "such a port stops and starts 300 times while it is polled and reaped" expect pmd '^0 .*started' 200
check "frames come in" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "the books balance with TX rings that hold" done_well

begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --hardened
check "start with two lcores" ask start '^nearpmd> start'
check "stop a port" ask 'port stop 1' '^nearpmd> port stop 1'
check "its peer's frames have a name" wait_for 20 ask 'show fwd stats all' '^port 0 .*no-route [1-9]'
check "a stopped port's queue can be moved" ask 'move rxq 1 0 lcore 2' 'port 1 queue 0: lcore'
check "start it again" ask 'port start 1' '^nearpmd> port start 1'
check "start a started one" ask 'port start 1' 'port 1 is started already'
check "attach" ask 'port attach net_null5,size=128' '^port 2 attached: net_null5'
check "attach what there is not" ask 'port attach net_nonsense0' "device 'net_nonsense0' cannot be attached"
check "start it" ask 'port start 2' '^nearpmd> port start 2'
check "it is polled" wait_for 20 ask 'show fwd stats all' '^port 2 .*: received [1-9]'
check "detach refuses a started port" ask 'port detach 2' 'port 2 is started: port stop 2 first'
check "stop it" ask 'port stop 2' '^nearpmd> port stop 2'
check "detach it" ask 'port detach 2' '^port 2 detached'
check "it is gone" ask 'port start 2' 'there is no port 2: ports are 0,1'
check "config refuses started ports" ask 'port config all rxq 2' 'port 0 is started: port stop all first'
check "stop forwarding" ask stop '^port 0'
check "stop all" ask 'port stop all' '^nearpmd> port stop all'
check "two queues each" ask 'port config all rxq 2' '^nearpmd> port config all rxq 2'
check "TX queues" ask 'port config all txq 2' '^nearpmd> port config all txq'
check "TX descriptors" ask 'port config all txd 512' '^nearpmd> port config all txd'
check "they are in show config" ask 'show config' '^txd = 512 \(prompt\)'
check "a range" ask 'port config all rxd 0' 'rxd 0 is not a number from 1 to 32768'
check "more than there may be" ask 'port config all rxq 1025' "rxq '1025' is not a number from 0 to 1024"
check "an MTU is read back" ask 'port config mtu 0 900' '^port 0: MTU 900$'
check "a device without filters is as it is" ask 'set promisc 1 on' '^nearpmd> set promisc'
check "reset what cannot be" ask 'port reset 0' 'port 0 .* cannot be reset'
check "start all" ask 'port start all' '^nearpmd> port start all'
check "start forwarding" ask start '^nearpmd> start'
check "both queues are there" ask 'show rxq' '^  port 0 queue 1: '
check "close refuses a started port" ask 'port close 0' 'port 0 is started: stop it first'
check "stop one" ask 'port stop 0' '^nearpmd> port stop 0'
check "close it" ask 'port close 0' '^nearpmd> port close 0'
check "a closed port does not start" ask 'port start 0' 'port 0 is closed'
check "nor is it shown as open" ask 'show port summary' '^0 .*closed'
check "nor listens to everybody" ask 'set promisc 0 on' '^nearpmd: port 0 is closed'
# DPDK gives the number of a closed port to the next one that comes; the closed one goes then.
long=net_null_of_a_name_as_long_as_the_eal_lets_a_device_have_it_now
check "a device whose name is as long as can be takes its number" ask "port attach $long" "^port 0 attached: $long"
check "starts" ask 'port start 0' '^nearpmd> port start 0'
check "is polled" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "and has its pool" ask 'show page_pool 0 0' '^pool p0q0'
check "no driver may free without a look at whose page it is" ask 'show port info 0' 'TX offloads:'
check "MBUF_FAST_FREE is off" eval '[[ $line != *FAST_FREE* ]]'
check "the device of the closed port may come again" ask 'port attach net_null0' '^port 2 attached: net_null0'
check "the books balance" done_well 1
tap_done
