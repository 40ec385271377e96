# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For system tests of nearpmd; sourced instead of lib.sh.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
nearpmd=$build_dir/app/nearpmd/nearpmd
# shellcheck disable=SC2034 # for the tests
hold_pmd=$build_dir/tests/system/hold_pmd/libhold_pmd.so
[[ -x $nearpmd ]] || skip_all "nearpmd is not built"

# Three lcores on the two cores that every machine has: the main one, and two that forward.
# shellcheck disable=SC2034
three_lcores='0@0,1@1,2@0'

# nearpmd_command LCORES arguments...: sets the array command.
nearpmd_command() {
  local lcores=$1
  shift
  eal_arguments 128
  command=("$nearpmd" "--lcores=$lcores" "${eal[@]:2}" "$@")
}

# begin LCORES arguments...: starts nearpmd as 'pmd', its input held open.
begin() {
  nearpmd_command "$@"
  start pmd "${command[@]}"
}

# run LCORES arguments...: runs it to its end; leaves its exit code in $code, its output in $work/run.
run() {
  nearpmd_command "$@"
  timeout $((60 * stretch)) "${command[@]}" >"$work/run" 2>&1 </dev/null
  code=$?
}

# The output of run has a line that matches; shown when not.
said() { grep -E -- "$1" "$work/run" >/dev/null || { cat "$work/run"; return 1; }; }
ended() { ((code == $1)) || { echo "exit code $code, not $1"; cat "$work/run"; return 1; }; }

# ask TEXT REGEX: a command, and the line that answers it.
ask() {
  send pmd "$1"
  expect pmd "$2" 20
}

# done_well: quits; the books have to balance.
done_well() {
  send pmd quit
  expect pmd '^the books balance' 30 && finish pmd "${1:-0}" 30
}
