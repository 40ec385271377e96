#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the device sees of nearpmd's page memory, and the driver's recovery from an error while a pool is
# empty, which frees a buffer twice.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
launcher=("${below[@]}")

# Two ports with two queues each, memory on two nodes. Each pool is a mempool, and the driver registers
# each mempool with each device: all its memory must be one region, or receiving would look up a key
# for each buffer.
below=("${launcher[@]}" -vv)
begin "$three_lcores" -- -i --hardened --rxq=2 --numa-map=1:0,2:1
check "forwarding starts" ask "$start_text" "^nearpmd> $start_text"
regions() { grep -E "^connectx4: mlx5_$1: region 0x" "$(output pmd)" | sed 's/.*region \(.*\), key.*/\1/'; }
for port in 0 1; do
  check "device $port: one region for each of the four pools" test "$(regions "$port" | wc -l)" -eq 4
done
check "and all of them are the whole arena" test "$(for port in 0 1; do regions "$port"; done | sort -u | wc -l)" -eq 1
read -r _ _ size < <(regions 0)
send pmd 'show page_arena'
pages=0
for node in 0 1; do
  expect pmd "^node $node \\(emulated\\): [0-9]+ pages" 20 >/dev/null && [[ $line =~ :\ ([0-9]+)\ pages ]] &&
    pages=$((pages + BASH_REMATCH[1]))
done
check "on both nodes: $pages pages in $((size)) bytes" test $((pages > 0 && size >= pages * 2176)) -eq 1
for queue in 0 1; do check "queue $queue goes to node 1" ask "move rxq 0 $queue lcore 2" "port 0 queue $queue: lcore"; done
# All frames are of one flow, so one of the two gets them.
on_node_1() {
  local queue
  for queue in 0 1; do
    ask "show page_pool 0 $queue" 'by node:' && [[ $line == *' 1:'[1-9]* ]] && return 0
  done
  return 1
}
check "the device writes there" wait_for 20 on_node_1
check "the books balance" done_well
check "nothing was out of bounds" bash -c "! grep 'protection error' '$(output pmd)'"
for port in 0 1; do check "device $port: no region is left" grep -E "mlx5_$port: closed: .*regions left 0" "$(output pmd)"; done

# Ordinary pages have no physical address that stays. Where those are the IOVAs, DPDK would leave the pool
# out when it registers memory, and fail at the start with words that do not help.
below=("${launcher[@]}")
run "$three_lcores" --iova-mode=pa -- --arena-no-huge
check "without IOVAs no port" said \
  "^nearpmd: .*cannot be reached by device 0000:81:00.0: .* physical .*run with --iova-mode=va, or with hugepages"
check "the exit code says so" ended 1
run "$three_lcores" --iova-mode=va -- --arena-no-huge --tx-first --exit-when-idle --forward-mode=drop
check "with --iova-mode=va ordinary pages do" said '^port 0 .*: received [1-9]'
check "and the books balance" ended 0

# Errors on a port whose pool has hardly more pages than its ring. DPDK 22.11's vector recovery gives the
# buffers back that it got before the pool was empty, but looks them up with the wrong mask: it frees the
# first buffer of the ring each time. Hardened mode says whose, which, where, and does not take it in.
# It takes a pool that has at least two pages then, and not all: so at several moments, until it happens.
double_free='pool p0q0: 0x[0-9a-f]+, returned by lcore 1, was not out: it was returned twice; it is not taken in'
caught() { grep -qE "$double_free" "$(output pmd)"; }
try() { # SPARE_PAGES FRAME
  below=("${launcher[@]}" --fault "rx-error:at=$2:every=3000:port=0"
    --wire "0=pcap:in=$data_dir/capture.pcap:repeat=0" --wire "1=pcap:out=/dev/null")
  begin 0@0,1@1 -- -i --hardened --rxd=256 "--pool-quota=$((256 + $1))"
  ask start '^nearpmd> start' && wait_for 1 caught
}
tries() {
  local spare frame
  for frame in 3000 2900 3450; do
    for spare in 14 40 64 90; do
      try "$spare" "$frame" && return 0
      stop_now pmd
    done
  done
  return 1
}
check "the second free of a page is caught and named" tries
say "$(grep -m1 -oE "$double_free" "$(output pmd)")"
counted() { ask 'show page_pool 0 0' 'misuse' && [[ $line == *'misuse '[1-9]* ]]; }
check "and counted" wait_for 10 counted
send pmd quit
finish pmd 0 60 >"$work/end" || say "as was to be expected, the exit code is not 0"
check "nearpmd survives to its books" grep -E '^(the books balance|THE BOOKS DO NOT BALANCE)' "$(output pmd)"
tap_done
