#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Trace points: a move is recorded, and read by babeltrace2.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_program babeltrace2
[[ -f $hold_pmd ]] || skip_all "the hold PMD is not built"
[[ $sanitize == none ]] || skip_all "preloading and sanitizers exclude each other"

# As the move test: a device that holds pages, so that foreign ones come back for a while.
export HOLD_PPS=20000
nearpmd_command "$three_lcores" --vdev=net_null_hold0 --vdev=net_null_hold1 \
  '--trace=page_pool.*' "--trace-dir=$work/traces" -- -i --numa-map 1:0,2:1 --rxd=256 --txd=256
start pmd env "LD_PRELOAD=$hold_pmd" "${command[@]}"
check "it starts" ask start '^nearpmd> start'
all_local() { ask 'show page_pool 0 0' '^  local' && [[ $line == *'local 100.0%'* ]]; }
owned() { ask 'show page_pool 0 0' '^  owned ' && [[ $line == *'owned '[1-9]* ]]; }
check "the pool has pages" wait_for 20 owned
# Pages that the pool takes on node 1 are pressure pages at first, and not kept either.
send pmd 'set page_arena pressure 1 on'
check "port 0 goes to node 1" ask 'move rxq 0 0 lcore 2' 'port 0 queue 0: lcore 1 -> 2'
refused() { ask 'show page_pool 0 0' '^  released ' && [[ $line == *'pressure refused '[1-9]* ]]; }
check "under pressure, pages are refused" wait_for 20 refused
send pmd 'set page_arena pressure 1 off'
followed() { ask 'show page_pool 0 0' '^pool p0q0 ' && [[ $line == *': node 1 '* ]] && all_local; }
check "all its pages follow" wait_for 20 followed
check "port 0 goes back" ask 'move rxq 0 0 lcore 1' 'lcore 2 -> 1'
check "the pages follow again" wait_for 20 all_local
check "the books balance" done_well

trace() { babeltrace2 "$work"/traces/* >"$work/trace" && [[ -s $work/trace ]]; }
check "babeltrace2 reads the trace" trace
# events NAME REGEX: some event of that name has fields that match.
events() {
  grep -E "page_pool\.$1: .*name = \"p0q0\".*$2" "$work/trace" >/dev/null ||
    { grep -F "page_pool.$1:" "$work/trace" | tail -n 5; return 1; }
}
some='0x[1-9A-F][0-9A-F]*'
check "state_hold: pages taken on node 0" events state_hold "pages = $some, nid = 0, owned = $some"
check "update_nid: from node 0 to node 1" events update_nid 'old_nid = 0, new_nid = 1'
check "update_nid: and back" events update_nid 'old_nid = 1, new_nid = 0'
check "foreign_reject: pages of node 0 are refused" events foreign_reject "pages = $some, nid = 1"
check "pressure_reject: and those taken under pressure" events pressure_reject "pages = $some, nid = 1"
check "state_release: they go home" events state_release "pages = $some"
check "state_hold: pages taken on node 1" events state_hold "pages = $some, nid = 1"
check "release: the pool ends with nothing out" events release \
  "inflight = 0, hold = ($some), released = \\1"
balance() { # of all pages held, all were released, by the trace alone
  python3 - "$work/trace" <<'PYTHON'
import re
import sys
pages = {"hold": 0, "release": 0}
for line in open(sys.argv[1], encoding="utf-8"):
    match = re.search(r'page_pool\.state_(\w+): .*name = "p0q0", pages = (\w+)', line)
    if match:
        pages[match[1]] += int(match[2], 16)
print(pages)
sys.exit(not 0 < pages["hold"] == pages["release"])
PYTHON
}
check "what was held was released" balance

# A port goes while one of its pages lies in the other port's TX ring: its pool has to wait.
touch "$work/hostage"
nearpmd_command "$three_lcores" --vdev=net_null_hold0 --vdev=net_null_hold1 \
  '--trace=page_pool.*' "--trace-dir=$work/stalled" -- -i --rxd=256 --txd=1024 --no-flush-rx
start pmd env "LD_PRELOAD=$hold_pmd" "HOLD_HOSTAGE=$work/hostage" HOLD_FRAMES=500 "${command[@]}"
check "it starts again" ask start '^nearpmd> start'
check "frames pass" ask_until 20 'show fwd stats all' '^port 1 .*: received 500 = forwarded 500$'
send pmd $'stop\nport stop 0'
check "a port goes" ask 'port detach 0' '^port 0 detached'
check "its pool is waited for" expect pmd 'pool p0q0 is dying since [1-9]' 20
rm "$work/hostage"
check "until its page is home" ask_until 20 'show dying' '^no pool is dying'
check "the books balance after that" done_well
trace() { babeltrace2 "$work"/stalled/* >"$work/trace" && [[ -s $work/trace ]]; }
check "babeltrace2 reads that trace" trace
check "stall: one page out, and for how long" events stall 'inflight = 1, seconds = 0x[1-9A-F]'
check "release: while the page is out" events release 'inflight = 1,'
check "release: when it is home" events release 'inflight = 0,'

# Off: no trace is written.
run "$three_lcores" --vdev=net_null0 --vdev=net_null1 "--trace-dir=$work/off" -- --help
check "without --trace there is none" test ! -e "$work/off"
tap_done
