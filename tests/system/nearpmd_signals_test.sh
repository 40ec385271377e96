#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGINT and SIGTERM end it with its books, other signals do not; kill -9 leaves nothing behind.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
for signal in INT TERM; do
  begin 0@0,1@1 "${pair[@]}" -- "${seed[@]}" --stats-period=1
  check "it forwards" expect pmd '^forwarding: redirect' 20
  for other in USR1 USR2 WINCH ALRM HUP PIPE; do stop pmd "$other"; done
  check "other signals do not end it" expect pmd '^port 0 .*: received' 20
  stop pmd "$signal"
  check "SIG$signal ends it, the books balance" expect pmd '^the books balance' 20
  check "SIG$signal: exit code" finish pmd 0 20
done

begin 0@0,1@1 "${pair[@]}" -- -i
check "the prompt is there" ask 'show numa' '^lcore 0'
stop pmd INT
check "SIGINT ends a prompt too" finish pmd 0 20

begin 0@0,1@1 "${pair[@]}" -- -i
check "start" ask "$start_text" "^nearpmd> $start_text"
send_end pmd
check "the end of the input ends it" finish pmd 0 20

before=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)
for ((i = 0; i < 10; i++)); do
  begin 0@0,1@1 "${pair[@]}" -- -i --auto-start
  expect pmd '^nearpmd> |emulated' 1 >/dev/null || true
  ask 'show numa' '^lcore 0' >"$work/ask" || { not_ok "start after kill -9, turn $i" "$(cat "$work/ask")"; break; }
  stop pmd KILL
  finish pmd 137 10 >"$work/ask" || { not_ok "kill -9, turn $i" "$(cat "$work/ask")"; break; }
done
check "ten times kill -9 and start again" test "$i" -eq 10
none_kept() { (($(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages) >= before)); }
check "no hugepage stays taken" wait_for 10 none_kept
tap_done
