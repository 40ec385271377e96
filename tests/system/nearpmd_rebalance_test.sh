#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Queues go from overloaded lcores to idle ones, on emulated nodes: dry run, threshold, gain, nodes.
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
# Lcore 1 is on node 0, 2 on node 1, 3 on node 0; the ports say that they are on node 0.
begin 0@0,1@1,2@0,3@0 "${pair[@]}" -- -i --numa-map=1:0,2:1,3:0 \
  --port-numa-config=0:0,1:0 --rebalance-period=1
check "rebalancing is off" ask 'show config' '^rebalance = false \(default\)'
check "start" ask "$start_text" '^nearpmd> start'
for port in 0 1; do
  check "all queues on lcore 1: port $port" ask "move rxq $port 0 lcore 1" "^nearpmd> move"
done
check "which has a load" ask_until 20 'show rxq' '^lcore 1 node 0 \(emulated\): load [1-9]'

check "a threshold nobody reaches" ask 'set rebalance threshold 100' '^nearpmd> set'
check "a gain nobody has" ask 'set rebalance gain 100' '^nearpmd> set'
check "say what is decided" ask 'set verbose 2' '^nearpmd> set'
check "rebalance, without a reason to" ask 'set rebalance on' '^nearpmd> set'
check "nothing to gain" expect pmd '^rebalance: nothing to gain' 20
check "a gain that is had" ask 'set rebalance gain 5' '^nearpmd> set'
check "a threshold that is passed" ask 'set rebalance threshold 50' '^nearpmd> set'
check "a dry run" ask 'set rebalance dry-run' '^nearpmd> set'
check "says what it would move: to the port's node" expect pmd \
  '^rebalance \(dry run\): port [01] queue 0 from lcore 1 to 3: highest load [0-9]+% -> [0-9]+%' 30
check "says it again, since nothing moved" expect pmd '^rebalance \(dry run\): .* from lcore 1 to 3' 30
check "it is in show config" ask 'show config' '^rebalance-dry-run = true \(prompt\)'
check "in earnest" ask 'set rebalance on' '^nearpmd> set'
check "it is moved" expect pmd '^rebalance: port [01] queue 0 from lcore 1 to 3' 30
check "and then there is nothing to gain" expect pmd '^rebalance: nothing to gain' 30
check "lcore 3 has it" ask 'show rxq' '^lcore 3 node 0'
check "with its pages" expect pmd '^  port [01] queue 0: .*pages on node 0' 5

# Only a lcore of the other node is idle: the queue goes there, and its memory follows.
check "the near lcores alone" ask 'stop' '^port 1'
check "are two" ask 'set corelist 1,2' '^nearpmd> set'
check "start again" ask "$start_text" '^nearpmd> start'
for port in 0 1; do
  check "back on lcore 1: port $port" ask "move rxq $port 0 lcore 1" "^nearpmd> move"
done
check "across nodes where only that helps" expect pmd '^rebalance: port ([01]) queue 0 from lcore 1 to 2' 30
[[ $line =~ port\ ([01]) ]] && port=${BASH_REMATCH[1]}
check "its memory follows" ask_until 20 "show page_pool $port 0" '^pool .*: node 1 \(emulated\)'
check "off" ask 'set rebalance off' '^nearpmd> set'
check "a period" ask 'set rebalance period 60' '^nearpmd> set'
check "a period out of range" ask 'set rebalance period 0' "period '0' is not a number from 1 to 3600"
check "a threshold out of range" ask 'set rebalance threshold 101' "threshold '101' is not a number from 1 to 100"
check "the books balance" done_well 1

# Without a prompt, as in the background: both ports are on node 0, and lcore 2 is not.
begin 0@0,1@1,2@0 "${pair[@]}" -- "${seed[@]}" --numa-map=1:0,2:1 --port-numa-config=0:0,1:0 \
  --rebalance --rebalance-period=1 --rebalance-threshold=10 --rebalance-gain=5
check "a queue is moved without a prompt" expect pmd '^rebalance: port [01] queue 0 from lcore 1 to 2' 60
stop pmd TERM
check "the books balance without a prompt" expect pmd '^the books balance' 30
check "exit code without a prompt" finish pmd 0 30
tap_done
