#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Telemetry of nearpmd and of an unmodified program, by dpdk-telemetry.py and by a client of our own,
# also while ports and their pools come and go.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
# shellcheck source=tests/system/testpmd.sh
. "$(dirname "$0")/testpmd.sh"
need_root
need_program dpdk-telemetry.py
need_program dpdk-testpmd

use_socket_of_eal() {
  prefix=$(printf '%s\n' "${eal[@]}" | sed -n 's/^--file-prefix=//p')
  socket=/var/run/dpdk/$prefix/dpdk_telemetry.v2
}
telemetry() { python3 "$source_dir/tests/system/telemetry.py" "$socket" "$@"; }
# answers COMMAND EXPRESSION: a Python expression over the answer, called a.
answers() {
  telemetry "$1" >"$work/answer" && cat "$work/answer" &&
    python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' \
      "$work/answer" "$2"
}

nearpmd_command "$three_lcores" --vdev=net_null0 --vdev=net_null1 \
  -- -i -a --numa-map 1:0,2:1 --total-num-pages=10240
use_socket_of_eal
start pmd "${command[@]}"
forwards() { answers /nearpmd/queues 'len(a) == 2 and all(q["received"] > 0 for q in a.values())'; }
check "queues, which receive" wait_for 20 forwards
check "a queue: who polls it" answers /nearpmd/queues \
  '[(key, q["lcore"], q["pool"]) for key, q in a.items()] ==
   [("0/0", 1, "p0q0"), ("1/0", 1, "p1q0")]'
check "queues from a port on" answers /nearpmd/queues,1 'list(a) == ["1/0"]'
check "queues from a queue on" answers /nearpmd/queues,0,1 'list(a) == ["1/0"]'
check "queues: no number" answers /nearpmd/queues,x 'a is None'

check "pools" answers /page_pool/list 'len(a) == 2'
id=$(telemetry /page_pool/list | sed 's/[^0-9]*\([0-9]*\).*/\1/')
check "a pool" answers "/page_pool/info,$id" 'a["name"] == "p0q0" and a["kind"] == "queue" and
  a["nid"] == 0 and a["consumer"] == 1 and a["emulated"] == 1 and a["dying"] == 0'
check "its books and counters" answers "/page_pool/stats,$id" 'a["owned"] >= 512 and
  a["owned"] == a["cached"] + a["stashed"] + a["ringed"] + a["inflight"] and
  a["owned"] == sum(a["owned_node"].values()) and a["alloc_slow"] >= a["owned"] > 0'
check "no such pool" answers /page_pool/info,9999 'a is None'
check "no number" answers /page_pool/stats,first 'a is None'
check "no parameter" answers /page_pool/stats 'a is None'
check "nodes with pages" answers /page_arena/list 'a == [0, 1]'
check "a node" answers /page_arena/info,1 'a["node"] == 1 and a["emulated"] == 1 and
  a["pages"] >= 10240 and a["arenas"]["nearpmd"]["low"] > a["arenas"]["nearpmd"]["min"] > 0'
check "no such node" answers /page_arena/info,7 'a is None'

# DPDK's own client has the same to say.
by_dpdk() {
  printf '/page_pool/list\n/page_arena/info,0\nquit\n' |
    dpdk-telemetry.py -f "$prefix" >"$work/dpdk" 2>&1
  cat "$work/dpdk"
  grep -q '"/page_pool/list"' "$work/dpdk" && grep -q '"pages": ' "$work/dpdk"
}
check "dpdk-telemetry.py" by_dpdk

# Two clients ask for everything while ports come and go under traffic.
for client in one two; do
  start "hammer_$client" python3 "$source_dir/tests/system/telemetry.py" --hammer 6 "$socket"
done
{
  for ((i = 0; i < 15; i++)); do
    printf 'port attach net_null7\nport start all\nport stop 2\nport close 2\nport detach 2\n'
  done
  echo 'show numa'
} >"$work/ports"
send pmd "load $work/ports"
check "ports come and go" expect pmd '^topology: emulated' 120
for client in one two; do
  check "client $client: all answers hold together" expect "hammer_$client" 'rounds, [1-9]' 30
  check "client $client: ends well" finish "hammer_$client" 0 20
done
check "nearpmd forwards on" wait_for 20 forwards
check "the books balance" done_well

# A program that knows nothing of the pool.
if testpmd_on_plugin 128; then
  use_socket_of_eal
  start pmd "${testpmd[@]}" --vdev=net_null0 --vdev=net_null1 -- -i "--total-num-mbufs=$buffers"
  check "testpmd: starts" expect pmd '^testpmd> ' 60
  check "testpmd: a pool" answers /page_pool/list 'len(a) == 1'
  id=$(telemetry /page_pool/list | tr -dc '0-9')
  check "testpmd: what it is" answers "/page_pool/info,$id" \
    'a["kind"] == "shared" and a["name"].startswith("mb_pool_0") and a["quota"] == 8192'
  check "testpmd: its books" answers "/page_pool/stats,$id" 'a["owned"] == 8192 and
    a["owned"] == a["cached"] + a["stashed"] + a["inflight"]'
  check "testpmd: no arena" answers /page_arena/list 'a == []'
  end_testpmd testpmd
fi
tap_done
