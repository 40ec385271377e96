#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The prompt: each command, from a pipe, from files, and what it says when it cannot.
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
begin "$three_lcores" "${pair[@]}" -- -i
check "help" ask help '^forwarding:'
check "help of a section" ask 'help queues' 'move rxq PORT QUEUE lcore LCORE'
check "help of none" ask 'help quues' "^nearpmd: help has no section 'quues': there are forwarding, .*queues"
check "show port summary" ask 'show port summary' "^1 .*${port_names[1]} +$port_driver +up +started"
check "all ports are one table" ask 'show port summary all' "^1 .*${port_names[1]}"
check "show port info" ask 'show port info 0' 'MTU [0-9]+, promiscuous mode'
check "show config fwd" ask 'show config fwd' '^lcore 1: port 0 queue 0 -> port 1'
check "set corelist" ask 'set corelist 2' '^nearpmd> set corelist'
check "show config cores" ask 'show config cores' '^forwarding lcores: 2$'
check "what a prompt set is said so" ask 'show config' '^corelist = 2 \(prompt\)'
check "set nbcore refuses" ask 'set nbcore 2' '2 forwarding lcores: there may be 1 to 1'
for setting in 'set corelist 1,2' 'set nbcore 2' 'set portlist 0,1' 'set burst 16' 'set touch swap-macs' \
  'set fwd redirect-cpu' 'set promisc all off' 'set promisc all on' 'set verbose 1' 'set log global 6' 'set log pmd.net.null 5'; do
  check "$setting" ask "$setting" "^nearpmd> $setting\$"
done
check "show config rxtx" ask 'show config rxtx' '^forward mode redirect-cpu, touch level swap-macs, burst 16'
check "start tx_first" ask 'start tx_first 2' '^port 1: [0-9]+ frames sent first'
check "start twice" ask 'start' 'forwarding runs already: stop it first'
check "show fwd stats" ask 'show fwd stats all' '^  handed over: received [0-9]+ = forwarded'
check "show rxq" ask 'show rxq' '^  up to 8 polls in a row, by duration:'
check "show port stats" ask 'show port stats all' '^port 1: RX-packets [0-9]+'
check "show port xstats" ask 'show port xstats 1' 'rx_good_packets: [0-9]+'
check "clear fwd stats" ask 'clear fwd stats all' '^nearpmd> clear fwd'
check "clear port stats" ask 'clear port stats all' '^nearpmd> clear port'
check "show page_pool" ask 'show page_pool 0 0' 'owned [0-9]+ = cached'
check "show page_pool all" ask 'show page_pool all' '^pool p1q0'
check "show page_arena" ask 'show page_arena' '^node 0: [0-9]+ pages'
check "show numa" ask 'show numa' '^lcore 0: node [0-9]+, main'
check "show dying" ask 'show dying' '^no pool is dying'
for switch in node-follow foreign-reject pressure-reject bulk-return; do
  check "set $switch off" ask "set $switch off" "^nearpmd> set $switch off"
  check "it is in show config" ask 'show config' "^no-$switch = true \\(prompt\\)"
  check "set $switch on" ask "set $switch on" "^nearpmd> set $switch on"
done
check "set quota" ask 'set page_pool 0 0 quota 3000' '^nearpmd> set page_pool'
check "it is in show page_pool" ask 'show page_pool 0 0' 'quota 3000$'
check "stop" ask 'stop' '^port 0 .*: received'
check "stop twice" ask 'stop' 'forwarding does not run'
# What is absent, and what is no command, is one sentence.
check "no such command" ask 'strat' "'strat' is no command: help lists them"
check "wrong words" ask 'port halt 0' "'port halt 0' is no such command; there are: port start PORT"
check "no such port" ask 'port stop 9' 'there is no port 9: ports are 0,1'
check "no port at all" ask 'port stop x' "port 'x' is not a number from 0 to 31, or all"
check "no such queue" ask 'show page_pool 0 5' 'port 0 has no RX queue 5: its queues are 0 to 0'
check "no such mode" ask 'set fwd mac' "forward mode 'mac' is not known: use one of drop"
check "no such lcore" ask 'move rxq 0 0 lcore 9' 'lcore 9 does not forward: forwarding lcores are 1,2'
check "no lcore for a list" ask 'set corelist 9' '^nearpmd: lcore 9 cannot forward: there are 1,2$'
check "no list" ask 'set corelist 1-' "^nearpmd: list '1-' is not of the form 0-2,5"
check "no level" ask 'set log global 9' "^nearpmd: log level '9' is not a number from 1 to 8"
check "a quota out of range" ask 'set page_pool 0 0 quota 0' '^nearpmd: quota 0: pool p0q0: quota 0 is not in 1 to'
check "no such node" ask 'set page_arena pressure 7 on' '^nearpmd: node 7: arena nearpmd has no pages on node 7'
check "burst out of range" ask 'set burst 513' "burst '513' is not a number from 1 to 512"
printf '# comments and empty lines\n\nshow numa\nbogus line\n' >"$work/commands"
check "a file's errors name file and line" ask "load $work/commands" "$work/commands:4: 'bogus line' is no command"
check "no such file" ask 'load /nonexistent' "file '/nonexistent' with commands cannot be read"
printf 'show numa\r\nshow dying\r\n' >"$work/foreign"
check "a file of another system" ask "load $work/foreign" '^lcore 0'
check "to its end" expect pmd '^no pool is dying' 10
check "a directory is no file" ask "load $work" 'with commands cannot be read'
check "errors on a pipe are in the exit code" done_well 1
check "the first of them is named by its line" grep -E '^nearpmd: standard input:[0-9]+: ' "$(output pmd)"

printf 'show port summary\nshow numa\nquit\n' >"$work/good"
run "$three_lcores" "${pair[@]}" -- --cmdline-file="$work/good"
check "--cmdline-file" ended 0
run "$three_lcores" "${pair[@]}" -- --cmdline-file="$work/commands"
check "--cmdline-file with an error: file, line, exit code" ended 1
check "and the sentence" said "$work/commands:4: 'bogus line'"

# What follows is the same on any ports.
[[ ${NEARPMD_PORTS:-null} == null ]] || tap_done

# Queues are spread over the lcores that there are at a start, but for those that were moved.
begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --corelist=1
check "one lcore" ask start '^nearpmd> start'
check "polls all" ask_until 20 'show page_pool 1 0' '^pool p1q0 .*polled by lcore 1,'
check "stop with one lcore" ask stop '^port 1'
check "two lcores" ask 'set corelist 1,2' '^nearpmd> set corelist'
check "start with two" ask start '^nearpmd> start'
check "share them" ask_until 20 'show page_pool 1 0' '^pool p1q0 .*polled by lcore 2,'
check "a queue is moved" ask 'move rxq 0 0 lcore 2' 'port 0 queue 0: lcore 1 -> 2'
check "what is chosen for the next start is not in force yet" ask 'set burst 8' '^nearpmd> set burst'
check "and show config says both" ask 'show config' '^burst = 32, from the next start on 8 \(prompt\)'
check "show config rxtx has what is in force" ask 'show config rxtx' ' burst 32, '
check "stop with a moved queue" ask stop '^port 1'
check "start after a move" ask start '^nearpmd> start'
check "the moved queue stays where it was moved" ask_until 20 'show page_pool 0 0' '^pool p0q0 .*polled by lcore 2,'
check "the new burst is in force" ask 'show config' '^burst = 8 \(prompt\)'
check "the books balance on two lcores" done_well

# A file of commands may stop a port, which then stays stopped.
echo 'port stop 1' >"$work/one_stopped"
run "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" \
  --vdev="net_pcap1,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" -- --cmdline-file="$work/one_stopped"
check "--cmdline-file without a prompt forwards" said '^port 0 .*: received 2000 = forwarded 0 \+ no-route 2000$'
check "a port that it stopped stays so" said '^port 1 .*: received 0 '
check "the books balance with a stopped port" ended 0
tap_done
