#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --leak-report: pages that are out for long are listed with who has them; others are not.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
[[ -f $hold_pmd ]] || skip_all "the hold PMD is not built"
[[ $sanitize == none ]] || skip_all "preloading and sanitizers exclude each other"

# A frame a second: the pages in the RX ring wait, those of the null port come and go.
export HOLD_PPS=1
nearpmd_command "$three_lcores" --vdev=net_null_hold0 --vdev=net_null1 \
  -- -i -a --rxd=256 --txd=256 --leak-report 1
start pmd env "LD_PRELOAD=$hold_pmd" "${command[@]}"
# leaks POOL LEAST MOST
leaks() {
  send pmd 'show page_pool leaks'
  expect pmd "^pool $1 \\(port . queue 0\\): [0-9]+ pages out for more than 1 s" 5 &&
    [[ $line =~ :\ ([0-9]+)\ pages ]] && ((BASH_REMATCH[1] >= $2 && BASH_REMATCH[1] <= $3))
}
check "pages that wait in an RX ring are out" wait_for 20 leaks p0q0 200 9999
handed() { [[ $line == *'handed to lcore 0: '* ]]; }
check "with the lcore that they were handed to" handed
check "and how long" expect pmd '^  page 0x[0-9a-f]+ out for [0-9.]+ s, handed to lcore 0$' 5
check "pages that come and go are not" wait_for 20 leaks p1q0 0 0
check "the books balance" done_well

begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i
send pmd 'show page_pool leaks'
check "not watched: a sentence" expect pmd \
  'pages are not watched: start nearpmd with --leak-report SECONDS' 20
send pmd quit
check "not watched: it ends" finish pmd 1 30
tap_done
