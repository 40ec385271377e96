#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On a driver that holds buffers as mlx5 does: idle TX rings, empty pools, ports that go.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
[[ -f $hold_pmd ]] || skip_all "the hold PMD is not built"
[[ $sanitize == none ]] || skip_all "preloading and sanitizers exclude each other"
begin_hold() { # FRAMES PPS arguments...
  nearpmd_command "$three_lcores" --vdev=net_null_hold0 --vdev=net_null_hold1 "${@:3}"
  start pmd env "LD_PRELOAD=$hold_pmd" "HOLD_FRAMES=$1" "HOLD_PPS=$2" "${command[@]}"
}

# 300 frames each, then silence: all that may be out are the two RX rings of 256.
begin_hold 300 0 -- -i --rxd=256 --txd=1024 --no-flush-rx
check "start" ask start '^nearpmd> start'
check "all frames pass" wait_for 20 ask 'show fwd stats all' '^port 1 .*: received 300 = forwarded 300$'
only_rx_out() {
  send pmd "show page_pool $1 0"
  expect pmd 'inflight' 5 && [[ $line =~ inflight\ ([0-9]+) ]] && ((BASH_REMATCH[1] <= 256))
}
check "an idle TX ring lets go of port 0's pages" wait_for 20 only_rx_out 0
check "and of port 1's" wait_for 20 only_rx_out 1
check "by reaping" ask 'show rxq' '[1-9][0-9]* idle TX queues reaped'
check "the books balance" done_well

# A pool that is hardly larger than its ring: refills are refused, and it goes on all the same.
begin_hold 20000 0 -- -i --rxd=256 --txd=512 --total-num-pages=640 --pool-cache=0
check "start says what is wanted" ask start 'pages per node are fewer than the [0-9]+ .*--total-num-pages [0-9]+'
check "nothing is lost but by name" wait_for 30 ask 'show fwd stats all' '^port 0 .*: received ([1-9][0-9]*) = '
check "the books balance when pages are short" done_well

# A port goes while its pages lie in another port's TX ring.
begin_hold 500 0 -- -i --rxd=256 --txd=1024 --no-flush-rx
check "start again" ask start '^nearpmd> start'
check "frames pass" wait_for 20 ask 'show fwd stats all' '^port 1 .*: received 500 = forwarded 500$'
check "forwarding stops" ask stop '^port 1 .*: received 500'
check "the port stops" ask 'port stop 0' '^nearpmd> port stop 0'
check "and goes" ask 'port detach 0' '^port 0 detached'
no_dying() { ask 'show dying' '^no pool is dying'; }
check "its pool dies when the last page is home" wait_for 20 no_dying
check "the books balance without it" done_well

# A driver that refuses a short frame refuses what is behind it: that is not to be lost with it.
nearpmd_command "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/odd_sizes.pcap" \
  --vdev=net_null_hold0 -- -i --no-flush-rx --rxd=256 --txd=1024
start pmd env "LD_PRELOAD=$hold_pmd" HOLD_FRAMES=0 HOLD_SHORTEST=19 "${command[@]}"
check "start with odd sizes" ask start '^nearpmd> start'
check "runts are dropped by name, the rest is sent" \
  wait_for 20 ask 'show fwd stats all' '^port 0 .*: received 7 = forwarded 3 \+ runt 4$'
check "the books balance with runts" done_well

begin_hold 1 0 -- -i --rxd=4096 --total-num-pages=1024
check "a ring that cannot be filled names pool and option" \
  expect pmd 'port 0 .* does not start: .*needs 4096 pages.*1024 per node \(--total-num-pages\)' 20
check "and is not started" finish pmd 1 20
tap_done
