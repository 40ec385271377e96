#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the device sees of nearpmd's page memory.
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

tap_done
