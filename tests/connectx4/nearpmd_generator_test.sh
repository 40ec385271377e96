#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A generator in one process loads nearpmd in another, each on a genuine mlx5 driver.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
need_program dpdk-testpmd
need_hugepages 160
below+=(--ports 1 --wire shm:load)

begin 0@0,1@1 -- -i --hardened --forward-mode=drop --touch=parse-ip
check "nearpmd waits for frames" ask start '^nearpmd> start'
eal_arguments 96
start generator "${below[@]}" -- stdbuf -oL dpdk-testpmd -l 0,1 --in-memory -m 96 --no-telemetry "${eal[-2]}" \
  -- -i --nb-cores=1 --total-num-mbufs=4096 --forward-mode=txonly
check "the generator is there" expect generator 'Port 0: 02:C4' 30
send generator start
check "it sends" expect generator 'txonly packet forwarding' 30
enough() { ask 'show fwd stats all' '^port 0 .*: received' && [[ $line =~ received\ ([0-9]+) ]] && ((BASH_REMATCH[1] > 20000)); }
check "its frames arrive" wait_for 30 enough
send generator stop
check "it stops" expect generator 'TX-packets: [1-9]' 30
send generator quit
check "and ends" finish generator 0 30
check "nearpmd's frames all have a name" ask stop '^port 0 .*: received ([0-9]+) = forwarded 0 \+ verdict-drop \1$'
check "the books balance" done_well
tap_done
