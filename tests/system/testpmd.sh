# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Driving Debian's testpmd, started as `start pmd` with --total-num-mbufs=$buffers.
buffers=8192

# place_lcores MAP: has the array testpmd name its lcores by --lcores MAP instead of by -l.
place_lcores() {
  local at
  for at in "${!testpmd[@]}"; do
    [[ ${testpmd[at]} == -l ]] && testpmd[at]=--lcores && testpmd[at + 1]=$1
  done
}

# A line of testpmd's table; RX-packets or TX-packets, the sum of all ports above $2.
moved() {
  send pmd 'show fwd stats all'
  expect pmd 'Accumulated forward statistics for all ports' 20 || return 1
  expect pmd "$1-packets: *[0-9]+" 20 || return 1
  # shellcheck disable=SC2154 # set by expect
  [[ $line =~ $1-packets:\ *([0-9]+) ]] && ((BASH_REMATCH[1] > $2))
}

# Everything is in the pool or in a cache of it, as rte_mempool_dump() sees it.
all_back() {
  local cached=0 common
  send pmd 'dump_mempool mb_pool_0'
  expect pmd 'cache_size=' 20 || return 1
  if [[ $line != *cache_size=0 ]]; then
    expect pmd 'total_cache_count=' 20 || return 1
    cached=${line#*total_cache_count=}
  fi
  expect pmd 'common_pool_count=' 20 || return 1
  common=${line#*common_pool_count=}
  echo "cached $cached, common $common of $buffers"
  ((cached + common == buffers))
}

forward() {
  local mode=$1 what=TX start=start
  [[ $mode == rxonly ]] && what=RX
  # Devices that only receive what was sent need something to begin with.
  [[ ${device:-} =~ ring|veth && $mode =~ io|macswap ]] && start='start tx_first 2'
  send pmd "set fwd $mode"
  expect pmd "Set $mode packet forwarding mode" 30 || return 1
  send pmd "$start"
  wait_for 40 moved "$what" 63 || return 1
  send pmd stop
  expect pmd '^Done\.' 40
}

# end_testpmd NAME: stops and closes the ports, looks for every buffer, and quits.
end_testpmd() {
  send pmd 'port stop all'
  check "$1: ports stop" expect pmd 'Done' 40
  send pmd 'port close all'
  check "$1: ports close" expect pmd 'Done' 40
  check "$1: every buffer is back" wait_for 20 all_back
  send pmd quit
  check "$1: ends well" finish pmd 0 20
}
