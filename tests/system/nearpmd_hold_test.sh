#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On a driver that holds buffers as mlx5 does: idle TX rings, empty pools, ports that go.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# 300 frames each, then silence: all that may be out are the two RX rings of 256.
HOLD_FRAMES=300 begin_hold "$three_lcores" -- -i --rxd=256 --txd=1024 --no-flush-rx --rx-watchdog=1
check "start" ask start '^nearpmd> start'
check "all frames pass" ask_until 20 'show fwd stats all' '^port 1 .*: received 300 = forwarded 300$'
only_rx_out() {
  send pmd "show page_pool $1 0"
  expect pmd 'inflight' 5 && [[ $line =~ inflight\ ([0-9]+) ]] && ((BASH_REMATCH[1] <= 256))
}
check "an idle TX ring lets go of port 0's pages" wait_for 20 only_rx_out 0
check "and of port 1's" wait_for 20 only_rx_out 1
check "by reaping" ask 'show rxq' '[1-9][0-9]* idle TX queues reaped'
check "that no frame comes any more is said" expect pmd \
  'warning: port [01]: no frame for [1-9][0-9]* s while its link is up' 20
check "the books balance" done_well

# A pool that is hardly larger than its ring: refills are refused, and it goes on all the same.
HOLD_FRAMES=20000 begin_hold "$three_lcores" -- -i --rxd=256 --txd=512 --total-num-pages=576 --pool-cache=0 \
  --no-flush-rx
check "start says what is wanted" ask start 'pages per node are fewer than the [0-9]+ .*--total-num-pages [0-9]+'
check "all frames are received" ask_until 30 'show fwd stats all' '^port 0 .*: received 20000 = '
check "refills that were refused are no losses" expect pmd \
  'rx missed 0, .*rx refills refused \(nombuf\) [0-9]+,' 5
check "nothing is lost but by name" ask stop '^port 0 .*: received 20000 = '
check "the books balance when pages are short" done_well

# Nothing to refill with for a while, then again: frames come back by themselves.
HOLD_PPS=20000 begin_hold "$three_lcores" -- -i --rxd=256 --txd=256 --pool-cache=0
check "start" ask start '^nearpmd> start'
check "frames come" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "the quota sinks to nothing" ask 'set page_pool 0 0 quota 1' '^nearpmd> set page_pool'
refills_refused() {
  send pmd 'show port stats 0'
  expect pmd '^port 0: RX-packets' 5 && [[ $line =~ RX-nombuf\ [1-9] ]]
}
check "refills are refused" wait_for 20 refills_refused
check "our own counter says so too" ask_until 20 'show page_pool 0 0' 'failed [1-9]'
check "the quota is back" ask 'set page_pool 0 0 quota 1024' '^nearpmd> set page_pool'
check "from here on" ask 'clear fwd stats all' '^nearpmd> clear'
check "frames come again" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9][0-9]{3}'
check "the books balance after a drought" done_well

# Rings that could hold far more than there is: the pages come back from them in time.
HOLD_PPS=20000 begin_hold "$three_lcores" -- -i --rxd=256 --txq=16 --txd=4096 --total-num-pages=2048 \
  --mbuf-size=256
check "16 TX queues of 4096 are in the sizing" ask start 'pages per node are fewer than the [0-9]+ .*131072 in TX rings'
check "more frames than there are pages" ask_until 30 'show fwd stats all' '^port 0 .*: received [1-9][0-9]{4,}'
check "none is dropped" ask stop '^port 0 .*: received ([0-9]+) = forwarded \1$'
check "the books balance with 16 TX queues" done_well

# So few frames that a driver frees next to nothing for the frames that follow.
HOLD_PPS=500 HOLD_FRAMES=3000 begin_hold "$three_lcores" -- -i --rxd=256 --txd=1024 --total-num-pages=1024 --no-flush-rx
check "start" ask start '1024 pages per node are fewer'
check "a trickle of more frames than pages" ask_until 30 'show fwd stats all' '^port 1 .*: received 3000 = forwarded 3000$'
check "the books balance after a trickle" done_well

# A port goes while its pages lie in another port's TX ring, one of them for long.
touch "$work/hostage"
HOLD_HOSTAGE=$work/hostage HOLD_FRAMES=500 begin_hold "$three_lcores" -- -i --rxd=256 --txd=1024 --no-flush-rx
check "start again" ask start '^nearpmd> start'
check "frames pass" ask_until 20 'show fwd stats all' '^port 1 .*: received 500 = forwarded 500$'
check "forwarding stops" ask stop '^port 1 .*: received 500'
check "the port stops" ask 'port stop 0' '^nearpmd> port stop 0'
check "and goes" ask 'port detach 0' '^port 0 detached'
check "its pool is dying" ask_until 20 'show dying' '^dying: pool p0q0 .*, 1 pages still out, for [1-9][0-9]* s'
check "a new pool is found a name" ask 'port attach net_null0' '^port 0 attached'
check "and a port" ask 'port start 0' '^nearpmd> port start 0'
check "both are there" ask 'show page_pool 0 0' '^pool p0q0\.[0-9]+ '
rm "$work/hostage"
check "the pool dies when the last page is home" ask_until 20 'show dying' '^no pool is dying'
check "the books balance without it" done_well

# A driver that refuses a short frame refuses what is behind it: that is not to be lost with it.
hold_command "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/odd_sizes.pcap" \
  --vdev=net_null_hold0 -- -i --no-flush-rx --rxd=256 --txd=1024
HOLD_FRAMES=0 HOLD_SHORTEST=19 start pmd "${command[@]}"
check "start with odd sizes" ask start '^nearpmd> start'
check "runts are dropped by name, the rest is sent" \
  ask_until 20 'show fwd stats all' '^port 0 .*: received 7 = forwarded 3 \+ runt 4$'
check "the books balance with runts" done_well

# A page that never comes home.
touch "$work/hostage"
HOLD_HOSTAGE=$work/hostage HOLD_FRAMES=500 begin_hold "$three_lcores" -- -i --rxd=256 --no-flush-rx
check "start with a leak" ask start '^nearpmd> start'
check "frames pass all the same" ask_until 20 'show fwd stats all' '^port 1 .*: received 500 = forwarded 500$'
send pmd quit
check "the end names the pool that misses a page" expect pmd 'LEAK' 20
check "a leak is in the exit code" finish pmd 1 20
rm "$work/hostage"

HOLD_FRAMES=1 begin_hold "$three_lcores" -- -i --rxd=4096 --total-num-pages=1024
check "a ring that cannot be filled names pool and option" expect pmd \
  'port 0 .* does not start: .*pool p0q0 of RX queue 0 had no page left; .*needs 4096 pages.*1024 per node \(--total-num-pages\)' 20
check "and is not started" finish pmd 1 20

# 4,196 buffers for 20 queues of 256: which queue went without is said.
HOLD_FRAMES=1 begin_hold "$three_lcores" -- -i --rxq=20 --rxd=256 --txd=64 --total-num-pages=4196 --pool-cache=0
check "of many queues, the ones without pages are named" expect pmd \
  'port 0 .* does not start: .*pool p0q1[0-9] of RX queue 1[0-9] had no page left; .*needs 256 pages, and there are 4[0-9]{3} per node' 20
check "and the port is not started" finish pmd 1 20
tap_done
