#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin under an unmodified program in the places memory may come from, on emulated nodes,
# hardened, and with options that are wrong.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/system/testpmd.sh
. "$(dirname "$0")/testpmd.sh"

# run NAME [EAL argument...]: io and macswap on two lcores, then every buffer is back.
run() {
  local name=$1 mode
  shift
  testpmd_on_plugin 256 0,1,2
  place_lcores '(0-2)@(0-1)'
  [[ ${pages:-} != ordinary ]] || ordinary_pages
  start pmd "${testpmd[@]}" "$@" --log-level=page_pool:debug \
    --vdev=net_null0 --vdev=net_null1 -- -i "--total-num-mbufs=$buffers" --nb-cores=2
  check "$name: starts" expect pmd '^testpmd> ' 60 || return 1
  for mode in io macswap; do
    check "$name: $mode" forward "$mode" || break
  done
  end_testpmd "$name"
}
said() { grep -qE -- "$1" "$(output pmd)"; }

need_root
need_program dpdk-testpmd

run "physical addresses" --iova-mode=pa
run "virtual addresses" --iova-mode=va

ordinary_pages() {
  local at
  for at in "${!testpmd[@]}"; do
    # The EAL refuses the two together.
    [[ ${testpmd[at]} != --in-memory ]] || testpmd[at]=--no-huge
  done
}
pages=ordinary run "ordinary pages" --no-shconf

export PAGE_POOL='numa-map=0:0;1:0;2:1'
run "two emulated nodes"
check "two emulated nodes: says that they are" said 'nodes are emulated: 0:0,1:0,2:1'
export PAGE_POOL=hardened
run "hardened"
check "hardened: no misuse is reported" eval '! said "not taken in"'
export PAGE_POOL=no-bulk-return,no-foreign-reject
run "without bulk return and foreign reject"

# refused NAME WORDS SENTENCE
refused() {
  export PAGE_POOL=$2
  testpmd_on_plugin 128
  start pmd "${testpmd[@]}" --vdev=net_null0 -- --total-num-mbufs=2048 --auto-start
  check "$1: testpmd ends" finish pmd 1 20
  check "$1: one sentence" said "$3"
}
refused "a word that is not known" bulk=32,bluk=16 "PAGE_POOL: 'bluk=16' is not known; allowed are"
refused "a bulk out of range" bulk=3 "PAGE_POOL: bulk '3' is not a number from 4 to 512"
refused "a map of another form" 'numa-map=1-0' 'PAGE_POOL: numa-map: .*1-0'
tap_done
