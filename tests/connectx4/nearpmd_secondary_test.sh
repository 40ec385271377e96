#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dpdk-proc-info, a secondary process, reads the statistics of nearpmd's ports.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
need_hugepages 96

# Memory that another process can map, which --in-memory is not: in a mount of the test's own.
mkdir "$work/huge"
nearpmd_command "$three_lcores" -- -i
for at in "${!command[@]}"; do
  [[ ${command[at]} == --in-memory ]] && command[at]=--huge-dir=$work/huge
  [[ ${command[at]} == --file-prefix=* ]] && prefix=${command[at]}
done
# shellcheck disable=SC2016 # for the inner shell
start pmd unshare -m sh -c 'mount -t hugetlbfs none "$0" && exec "$@"' "$work/huge" "${command[@]}"
check "forwarding starts" ask "$start_text" "^nearpmd> $start_text"
moved() { ask 'show fwd stats all' '^port 1 .*: received' && [[ $line == *'received '[1-9]* ]]; }
check "frames go round" wait_for 20 moved

info() { # what --xstats says, in $work/info
  timeout $((20 * stretch)) nsenter -t "$(pid_of pmd)" -m -n "${below[0]}" --join 0 -- \
    dpdk-proc-info --no-telemetry "$prefix" -- --xstats >"$work/info" 2>&1
}
counted() { # NAME: both ports have counted something
  [[ $(grep -cE "^ *$1: [1-9]" "$work/info") -eq 2 ]] || { cat "$work/info"; return 1; }
}
for turn in 1 2; do
  check "a secondary process comes and goes, turn $turn" info
  check "it reads the driver's counts" counted rx_good_packets
  check "and the device's" counted rx_phy_packets
done
check "the primary is none the worse" ask 'show page_pool 0 0' 'misrouted 0, misuse 0$'
check "the books balance" done_well
tap_done
