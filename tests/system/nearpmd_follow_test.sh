#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a pool follows and what it refuses, switched while traffic flows: nodes, pressure.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
HOLD_PPS=20000 begin_held "$three_lcores" -- -i --hardened --numa-map 1:0,2:1
check "emulated nodes are called so" expect pmd 'emulated' 20
check "it starts" ask "$start_text" "^nearpmd> $start_text"
check "lcore 1 has both queues" ask 'show rxq' '^  port 1 queue 0: .*pages on node 0: ([0-9]+) of \1 '
check "port 0 goes to node 1" ask 'move rxq 0 0 lcore 2' 'port 0 queue 0: lcore 1 -> 2'
check "all its pages follow" wait_for 20 all_local 1
check "how long polls took then is shown" ask 'show rxq' '^  single polls after a move, by duration: .*us:[1-9]'
check "and back" ask 'move rxq 0 0 lcore 1' 'lcore 2 -> 1'
check "they follow again" wait_for 20 all_local 0

check "not with node-follow off" ask 'set node-follow off' '^nearpmd> set node-follow'
check "to node 1" ask 'move rxq 0 0 lcore 2' 'lcore 1 -> 2'
check "polled there" ask_until 20 'show page_pool 0 0' '^pool p0q0 .*node 0 \(emulated\), polled by lcore 2'
check "with node-follow on" ask 'set node-follow on' '^nearpmd> set node-follow'
check "they follow as soon as they may" wait_for 20 all_local 1

# Under pressure pages are marked, and go home when it is over.
check "pressure" ask 'set page_arena pressure 1 on' '^nearpmd> set page_arena'
check "pages are taken under pressure" ask_until 20 'show page_arena' 'pressure forced'
check "and marked" ask 'move rxq 1 0 lcore 2' 'lcore 1 -> 2'
check "in the pool that takes them" ask_until 20 'show page_pool 1 0' '^  alloc: .*pressure [1-9]'
check "no pressure" ask 'set page_arena pressure 1 off' '^nearpmd> set page_arena'
check "they go home" ask_until 20 'show page_arena' '^  pressure pages out 0, taken [1-9]'
check "none was dropped" ask stop '^port 0 .*: received ([0-9]+) = forwarded \1$'
check "the books balance" done_well
tap_done
