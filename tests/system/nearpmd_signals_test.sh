#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGINT and SIGTERM end it with its books, other signals do not; kill -9 leaves nothing behind.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
for signal in INT TERM; do
  begin 0@0,1@1 "${pair[@]}" -- "${seed[@]}" --stats-period=1
  check "it forwards" expect pmd '^forwarding: redirect' 20
  for other in USR1 USR2 WINCH ALRM HUP PIPE QUIT IO PROF VTALRM XCPU XFSZ PWR; do stop pmd "$other"; done
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

# An end that hangs: the first signal begins it, the second one kills. Only the hold PMD has ports
# that will not stop.
if [[ ${NEARPMD_PORTS:-null} == null ]]; then
  touch "$work/stuck"
  HOLD_STUCK=$work/stuck begin_hold "$three_lcores" -- --stats-period=1
  check "it forwards on ports that will not stop" expect pmd '^forwarding: redirect' 20
  stop pmd INT
  first_one_is_heard() { ((!(0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$(pid_of pmd)/status") & 1 << 1))); }
  check "the first signal begins the end" wait_for 20 first_one_is_heard
  check "which hangs" is_running pmd
  stop pmd TERM
  check "the second signal kills" finish pmd 143 20
fi

# The same in the midst of commands.
begin 0@0,1@1 --vdev=net_null0 --vdev=net_null1 -- -i --auto-start
check "the prompt is there again" ask 'show numa' '^lcore 0'
for ((i = 0; i < 300; i++)); do
  stop pmd USR1
  stop pmd WINCH
  ((i % 50)) || send pmd 'show dying'
done
check "a storm of signals" ask 'show config cores' '^forwarding lcores: 1'
check "every command was heard" test "$(grep -c '^no pool is dying' "$(output pmd)")" -eq 6
check "the books balance after it" done_well

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
