#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two nearpmd joined by a memif: frames go round between two processes, each with pools of its own,
# and each ends with all its pages, whoever ends first.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# begin_end ROLE: a program that sends back what it gets. A client has to show its memory as one file.
begin_end() {
  nearpmd_command '0@0,1@1' --single-file-segments \
    --vdev="net_memif0,role=$1,socket=$work/memif,socket-abstract=no" -- -i --hardened --no-flush-rx \
    --forward-mode=tx --rxd=256 --txd=256
  start "$1" "${command[@]}"
}
# answers PROGRAM COMMAND REGEX
answers() {
  send "$1" "$2"
  expect "$1" "$3" 1
}
# join: both forward, the client begins.
join() {
  begin_end client
  check "$1: starts" starts client
  check "$1: the link is up" wait_for 20 answers client 'show port info 0' ', link up, '
  check "$1: the client sends first" seed
  check "$1: frames go round" wait_for 20 going_round
}
starts() { send "$1" start && expect "$1" '^nearpmd> start' 20; }
seed() {
  send client stop && expect client '^port 0' 20 && send client 'start tx_first 4' &&
    expect client '^nearpmd> start tx_first' 20
}
going_round() {
  answers server 'show fwd stats all' '^port 0 .*: received [0-9]{4,}' &&
    answers client 'show fwd stats all' '^port 0 .*: received [0-9]{4,}'
}
ends() {
  send "$1" quit
  expect "$1" '^the books balance' 30 && finish "$1" 0 30
}

# The driver of 22.11 unmaps what its peer shared while it may be polled: forwarding stops before a
# peer goes.
rests() { send "$1" stop && expect "$1" '^port 0 .*: received' 20; }

begin_end server
for turn in first second; do
  check "the server starts for the $turn client" starts server
  join "$turn client"
  check "the server rests" rests server
  if [[ $turn == first ]]; then
    check "the client ends, its books balance" ends client
  fi
done
check "the client rests" rests client
check "the server ends first, its books balance" ends server
check "the client ends, its books balance" ends client
tap_done
