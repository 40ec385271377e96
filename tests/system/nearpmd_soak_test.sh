#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Queues move between lcores and nodes 100 times a second for a minute under full load, in hardened
# mode; in the sanitizer builds for 20 s, or for as long as NEARPOOL_SOAK_SECONDS says.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
hertz=100 seconds=60
[[ $sanitize == none ]] || seconds=20
seconds=${NEARPOOL_SOAK_SECONDS:-$seconds}
begin_held "$three_lcores" -- -i --hardened --numa-map 1:0,2:1
check "it starts" ask "$start_text" "^nearpmd> $start_text"
check "moves are not told one by one" ask 'set verbose 0' '^nearpmd> set verbose'
moves() {
  timeout $((seconds * 10)) python3 "$(dirname "$0")/at_rate.py" "$hertz" "$seconds" \
    'move rxq 0 0 lcore 2' 'move rxq 1 0 lcore 2' 'move rxq 0 0 lcore 1' 'move rxq 1 0 lcore 1' >&"${_input[pmd]}"
}
check "$hertz moves a second for $seconds s" moves
send pmd 'show page_pool 0 0'
check "they are done" expect pmd '^pool p0q0 .*hardened' $((seconds * 10))
check "no second poller, no stray page; the node changed all the time" expect pmd \
  'nid updates [1-9][0-9]{2,}, .*misrouted 0, misuse 0$' 10
send pmd 'show page_pool 1 0'
check "nor with the other queue" expect pmd 'nid updates [1-9][0-9]{2,}, .*misrouted 0, misuse 0$' 10
check "polls after moves were measured" ask 'show rxq' '^  single polls after a move, by duration: .*us:[1-9]'
say "$line"
check "no frame of port 0 was dropped" ask stop '^port 0 .*: received ([1-9][0-9]*) = forwarded \1$'
check "nor of port 1" expect pmd '^port 1 .*: received ([1-9][0-9]*) = forwarded \1$' 10
check "the books balance" done_well
tap_done
