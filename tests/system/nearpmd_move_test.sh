#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Queues move between lcores and nodes while traffic flows, and their memory follows.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
[[ $sanitize == none ]] || skip_all "preloading and sanitizers exclude each other"
options=(-i --hardened --numa-map "1:0,2:1" --rxd=256)
if [[ $port_driver == mlx5_pci ]]; then
  begin "$three_lcores" "${pair[@]}" -- "${options[@]}" --txd=1024
else
  [[ -f $hold_pmd ]] || skip_all "the hold PMD is not built"
  export HOLD_PPS=20000
  nearpmd_command "$three_lcores" --vdev=net_null_hold0 --vdev=net_null_hold1 -- "${options[@]}" --txd=256
  start pmd env "LD_PRELOAD=$hold_pmd" "${command[@]}"
fi
check "emulated nodes are called so" expect pmd 'emulated' 20
check "it starts" ask "$start_text" "^nearpmd> $start_text"
check "lcore 1 has both queues" ask 'show rxq' '^  port 1 queue 0: .*pages on node 0: ([0-9]+) of \1 '
check "port 0 goes to node 1" ask 'move rxq 0 0 lcore 2' 'port 0 queue 0: lcore 1 -> 2'
check "all its pages follow" wait_for 20 all_local 1
check "and back" ask 'move rxq 0 0 lcore 1' 'lcore 2 -> 1'
check "they follow again" wait_for 20 all_local 0

# As fast as commands go in, both ways and both ports.
{
  for ((i = 0; i < 250; i++)); do
    printf 'move rxq %d 0 lcore %d\n' $((i & 1)) $(((i >> 1 & 1) + 1))
  done
  echo 'show numa'
} >"$work/moves"
send pmd "load $work/moves"
check "250 moves under load" expect pmd '^topology: emulated' 150
send pmd 'show page_pool all'
check "hardened mode saw no second poller" expect pmd 'misrouted 0, misuse 0$' 10
check "frames went on" ask 'show fwd stats all' '^port 0 .*: received [1-9]'
check "none was dropped" ask stop '^port 0 .*: received ([0-9]+) = forwarded \1$'
check "the books balance" done_well
tap_done
