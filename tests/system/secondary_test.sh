#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Secondary processes beside nearpmd: dpdk-proc-info, dpdk-dumpcap and dpdk-pdump, unmodified, with
# the plugin and without it, and one that uses a pool's pages.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_root
need_hugepages 80
for program in dpdk-proc-info dpdk-dumpcap dpdk-pdump; do need_program "$program"; done
[[ $sanitize == none ]] || skip_all "programs without a sanitizer cannot load a plugin with it"

# Secondaries map hugepages by name, so there has to be a place with names.
hugetlbfs() {
  mkdir "$work/huge"
  mount -t hugetlbfs -o pagesize=2M none "$work/huge" && on_exit umount "$work/huge"
}
check "a hugetlbfs of its own" hugetlbfs || tap_done
plugin_path || skip_all "no place for the plugin"

# with_secondaries MEGABYTES: sets eal as eal_arguments does, and prefix.
with_secondaries() {
  eal_arguments "$@"
  eal=("${eal[@]/--in-memory/--huge-dir=$work/huge}")
  prefix=$(printf '%s\n' "${eal[@]}" | sed -n 's/^--file-prefix=//p')
}
begin_with_secondaries() {
  with_secondaries 128
  start pmd "$nearpmd" "--lcores=$three_lcores" "${eal[@]:2}" "$@" --vdev=net_null1 \
    -- -i -a --total-num-pages=10240
}
forwards() { ask 'show fwd stats all' '^port 0 .*: received ' && [[ $line == *'received '[1-9]* ]]; }
begin_with_secondaries --vdev=net_null0
check "nearpmd forwards" wait_for 20 forwards

# beside PROGRAM EAL_ARGUMENT... -- ARGUMENT...: runs it to its end as a secondary; leaves its exit
# code in $code and what it said in $work/beside.
beside() {
  timeout $((30 * stretch)) "$1" --no-pci "--file-prefix=$prefix" "${@:2}" >"$work/beside" 2>&1
  code=$?
}
# guest EAL_ARGUMENT...: with an lcore id of its own, as the EAL demands of processes that share
# mempools.
guest() {
  beside "$build_dir/tests/system/guest/guest" --proc-type=secondary --lcores=9@0 "$@" -- p0q0
}
said_beside() { grep -qE -- "$1" "$work/beside" || { tail -n 30 "$work/beside"; return 1; }; }
ended_beside() { ((code == $1)) || { echo "exit code $code, not $1"; tail -n 30 "$work/beside"; return 1; }; }

# ---- dpdk-proc-info

beside dpdk-proc-info -- --stats
check "proc-info, without the plugin: statistics" said_beside 'RX-packets: *[1-9]'
check "proc-info, without the plugin: ends well" ended_beside 0
beside dpdk-proc-info -- --show-port
check "proc-info: ports" said_beside 'driver net_null device net_null0'
beside dpdk-proc-info -d "$plugin" -- --show-mempool=p0q0
check "proc-info: the pool of a queue" said_beside '- Name: p0q0 on socket 0'
check "proc-info: its ops are the page pool's" said_beside 'ops_name page_pool$'
# Of a pool that forwards there are moments in which no page is out.
counts() {
  beside dpdk-proc-info -d "$plugin" -- --show-mempool=p0q0
  grep 'Count: avail' "$work/beside"
  [[ $(grep 'Count: avail' "$work/beside") =~ in\ use\ \(([0-9]+)\) ]] &&
    ((BASH_REMATCH[1] > 0 && BASH_REMATCH[1] <= 10240))
}
check "proc-info: its counts are counts of pages" wait_for 20 counts
beside dpdk-proc-info -d "$plugin" -- --show-mempool
check "proc-info: all mempools in full" said_beside 'mempool <p1q0>@'
check "proc-info: ends well" ended_beside 0
# Without the plugin it must not crash: it would hold a lock of nearpmd's for ever.
beside dpdk-proc-info -- --show-mempool=p0q0
check "proc-info, without the plugin: a pool passes for a ring" said_beside 'ops_name ring_mt_rts$'
beside dpdk-proc-info -- --show-mempool
check "proc-info, without the plugin: all mempools in full" said_beside 'mempool <p1q0>@'
check "proc-info, without the plugin: ends well after that" ended_beside 0
beside dpdk-proc-info -- --iter-mempool=p0q0
check "proc-info, without the plugin: walks a mempool" ended_beside 0
guest
check "a guest without the plugin gets no page" said_beside '^guest: no buffers'
check "and no signal" ended_beside 1
changes_mempools() {
  ask 'port attach net_null2' '^port 2 attached' && ask 'port start 2' '^nearpmd> port start 2' &&
    ask 'port stop 2' '^nearpmd> port stop 2' && ask 'port detach 2' '^port 2 detached'
}
check "nearpmd still makes and frees mempools" changes_mempools
beside dpdk-proc-info -d "$plugin" -- --iter-mempool=p0q0
check "proc-info: walks a mempool" ended_beside 0
check "nearpmd forwards on" wait_for 20 forwards
# The driver whose place the pool has taken.
run "$three_lcores" "--vdev=net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" \
  "--vdev=net_pcap1,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" -- --pool-ops=ring_mt_rts
check "ring_mt_rts is found by its name" ended 0

# ---- a secondary that uses pages

guest -d "$plugin"
check "a guest takes pages and returns them" said_beside '^guest: took and returned 5000 buffers'
check "a guest ends well" ended_beside 0
returned_by_guest() { ask 'show page_pool 0 0' 'unregistered threads [1-9][0-9]{3}$'; }
check "its returns are counted" returned_by_guest
guest -d "$build_dir/tests/system/guest/libother_ops.so" -d "$plugin"
check "other drivers than the primary has: one sentence" said_beside \
  'this process has 15 mempool drivers besides the page pool, the primary has 14'
check "other drivers: it ends" ended_beside 1

# Ports come and go while secondaries look at all of them, one after the other.
looks_all_the_time() {
  local turn
  for ((turn = 0; turn < 6; turn++)); do
    ask 'port attach net_null7' '^port 2 attached' && ask 'port start 2' '^nearpmd> port start 2' || return 1
    beside dpdk-proc-info -- --stats
    ended_beside 0 && said_beside 'NIC statistics for port 2' || return 1
    ask 'port stop 2' '^nearpmd> port stop 2' && ask 'port detach 2' '^port 2 detached' || return 1
    beside dpdk-proc-info -- --stats
    ended_beside 0 || return 1
    said_beside 'NIC statistics for port 2' >/dev/null && return 1
  done
  return 0
}
check "secondaries see ports come and go" looks_all_the_time
check "nearpmd is none the worse" wait_for 20 forwards

check "the books balance" done_well

# An unmodified program, whose own drivers have another order: dpdk-testpmd has one linked in.
testpmd_with_secondaries() {
  with_secondaries 128
  start pmd stdbuf -oL dpdk-testpmd "${eal[@]}" -d "$plugin" --mbuf-pool-ops-name=page_pool \
    --vdev=net_null0 --vdev=net_null1 -- -i --total-num-mbufs=4096
  expect pmd '^testpmd> ' 60
}
check "testpmd on the plugin" testpmd_with_secondaries
beside dpdk-proc-info -- --show-mempool=mb_pool_0
check "testpmd: proc-info without the plugin" ended_beside 0
beside dpdk-proc-info -d "$plugin" -- --show-mempool=mb_pool_0
check "testpmd: proc-info with it" said_beside 'ops_name page_pool$'
send pmd quit
check "testpmd ends well" finish pmd 0 30

# ---- dpdk-dumpcap and dpdk-pdump

begin_with_secondaries --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,infinite_rx=1"
check "nearpmd forwards what is in a file" wait_for 20 forwards

# dumpcap takes no EAL arguments, so no plugin either.
capture() {
  timeout $((30 * stretch)) dpdk-dumpcap "--file-prefix=$prefix" "$@" >"$work/beside" 2>&1
  code=$?
}
# Without the frames of the null port that port 0 sends, which are many.
capture -i 0 -c 200 -f 'greater 65' -P -w "$work/capture.pcap"
check "dumpcap: captures" ended_beside 0
only_ours() {
  python3 - "$1" "$data_dir/capture.pcap" "$2" <<'PYTHON'
import sys
sys.path.insert(0, __import__("os").environ["NEARPOOL_SOURCE"] + "/tests/system")
import pcap_compare
got, sent = (pcap_compare.read_capture(path, True) for path in sys.argv[1:3])
known = set(sent)
strange = [frame for frame in got if frame not in known]
print(f"{len(got)} frames captured, {len(strange)} of them were never sent")
sys.exit(len(got) < int(sys.argv[3]) or bool(strange))
PYTHON
}
check "dumpcap: what it captures was sent, byte for byte" only_ours "$work/capture.pcap" 200
# It frees what the copies are made with when it ends, while frames go on.
again_and_again() {
  local i
  for ((i = 0; i < 8; i++)); do
    capture -i "$((i & 1))" -c 200 -w "$work/capture.pcapng"
    ended_beside 0 && is_running pmd || return 1
  done
}
check "dumpcap: again and again, as pcapng" again_and_again
capture -D
check "dumpcap: lists the ports" said_beside 'net_pcap0'

timeout 60 dpdk-pdump --no-pci "--file-prefix=$prefix" -- \
  --pdump "port=0,queue=*,rx-dev=$work/pdump.pcap" >"$work/beside" 2>&1 &
pdump=$!
on_exit kill "$pdump"
dumped() { [[ -s $work/pdump.pcap ]] && (($(stat -c %s "$work/pdump.pcap") > 100000)); }
check "pdump: captures" wait_for 20 dumped
kill -INT "$pdump"
wait "$pdump"
code=$?
check "pdump: ends well" ended_beside 0
check "pdump: what it captures was sent, byte for byte" only_ours "$work/pdump.pcap" 64

check "nearpmd forwards all the while" wait_for 20 forwards
check "the books balance" done_well
tap_done
