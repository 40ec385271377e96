#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every command that names a port or a queue, on one that is absent, stopped, closed or detached:
# one sentence, or it works; never a crash, never silence about what it could not do.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# on PORT: all the commands there are, on queue 0 of it.
on() {
  printf '%s\n' "port start $1" "port stop $1" "port reset $1" "port close $1" "port detach $1" \
    "port config mtu $1 1400" "show port info $1" "show port stats $1" "show port xstats $1" \
    "clear port stats $1" "clear port xstats $1" "set promisc $1 on" "set portlist $1" \
    "show page_pool $1 0" "set page_pool $1 0 quota 2000" "move rxq $1 0 lcore 2"
}

# one_sentence COMMAND: exactly one line of error, and it names the port.
one_sentence() {
  local before errors
  before=$(grep -c '^nearpmd: ' "$(output pmd)")
  ask "$1" '^nearpmd> ' || return 1
  ask 'show numa' '^topology' || return 1 # what came before it has been said
  errors=$(grep '^nearpmd: ' "$(output pmd)" | tail -n "+$((before + 1))")
  [[ $(printf '%s' "$errors" | grep -c '') -eq 1 && $errors == *"port $2"* ]] ||
    { echo "'$1' says: $errors"; return 1; }
}
at_most_one() {
  local before errors
  before=$(grep -c '^nearpmd: ' "$(output pmd)")
  ask "$1" '^nearpmd> ' || return 1
  ask 'show numa' '^topology' || return 1
  errors=$(grep '^nearpmd: ' "$(output pmd)" | tail -n "+$((before + 1))")
  (($(printf '%s' "$errors" | grep -c '') <= 1)) || { echo "'$1' says: $errors"; return 1; }
}

begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 --vdev=net_null2 -- -i
check "start" ask start '^nearpmd> start'
while read -r command; do check "absent: $command" one_sentence "$command" 9; done < <(on 9)

check "attach" ask 'port attach net_null5' '^port 3 attached'
check "a queue that is not set up yet: show" one_sentence 'show page_pool 3 0' 3
check "in these words" ask 'show page_pool 3 0' '^nearpmd: port 3 has no RX queues yet: start it first'
check "a queue that is not set up yet: move" one_sentence 'move rxq 3 0 lcore 2' 3
check "a port that is not started: stop" one_sentence 'port stop 3' 3
check "detach" ask 'port detach 3' '^port 3 detached'
while read -r command; do check "detached: $command" one_sentence "$command" 3; done < <(on 3)

check "stop port 2" ask 'port stop 2' '^nearpmd> port stop 2'
check "stopped: stop" one_sentence 'port stop 2' 2
check "stopped: reset" one_sentence 'port reset 2' 2
for command in 'show port info 2' 'show port stats 2' 'show port xstats 2' 'clear port stats 2' \
  'clear port xstats 2' 'set promisc 2 on' 'port config mtu 2 1400' 'show page_pool 2 0' \
  'set page_pool 2 0 quota 2000' 'move rxq 2 0 lcore 2' 'show rxq' 'show fwd stats all'; do
  check "stopped: $command" at_most_one "$command"
done
check "close it" ask 'port close 2' '^nearpmd> port close 2'
for command in 'port start 2' 'port stop 2' 'port reset 2' 'port close 2' 'port config mtu 2 1400' \
  'show port xstats 2' 'clear port stats 2' 'clear port xstats 2'; do
  check "closed: $command" one_sentence "$command" 2
done
check "closed: it says so" ask 'show port xstats 2' '^nearpmd: port 2 is closed$'
check "closed: and what to do" ask 'set promisc 2 on' '^nearpmd: port 2 is closed: detach it and attach it again'
for command in 'show port info 2' 'show port stats 2' 'set promisc 2 on' 'show page_pool 2 0' \
  'set page_pool 2 0 quota 2000' 'move rxq 2 0 lcore 2' 'show rxq' 'show page_pool all' \
  'show port summary' 'show fwd stats all' 'clear fwd stats all' 'show config fwd'; do
  check "closed: $command" at_most_one "$command"
done
for command in 'show page_pool 0 7' 'set page_pool 0 7 quota 9' 'move rxq 0 7 lcore 1'; do
  check "no such queue: $command" one_sentence "$command" 0
done
check "the others forwarded all the time" ask_until 20 'show fwd stats all' '^port 1 .*: received [1-9]'

# With no port left at all.
check "stop forwarding" ask stop '^port 1'
for command in 'port stop all' 'port detach 0' 'port detach 1' 'port detach 2'; do
  check "$command" ask "$command" '^nearpmd> port|detached'
done
for command in start 'port start all' 'show port info all' 'clear port stats all' 'set promisc all on'; do
  check "no port: $command" ask "$command" '^nearpmd: .*no port'
done
for command in 'show port summary' 'show fwd stats all' 'show page_pool all' 'show rxq' 'show config fwd' 'show config'; do
  check "no port: $command" at_most_one "$command"
done
check "the end, with errors told" done_well 1
tap_done
