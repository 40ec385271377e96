# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For system tests of nearpmd; sourced instead of lib.sh.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
nearpmd=$build_dir/app/nearpmd/nearpmd
# shellcheck disable=SC2034 # for the tests
hold_pmd=$build_dir/tests/system/hold_pmd/libhold_pmd.so
nearpmd_hold=$build_dir/tests/system/hold_pmd/nearpmd_hold
[[ -x $nearpmd ]] || skip_all "nearpmd is not built"

# Three lcores on the two cores that every machine has: the main one, and two that forward.
# shellcheck disable=SC2034
three_lcores='0@0,1@1,2@0'

# What a scenario runs on that does not care: two ports that bring frames. NEARPMD_PORTS says which:
# null, or connectx4: the genuine mlx5 driver on software ConnectX-4 ports, each the other's peer.
#   pair         EAL arguments for them       port_names, port_driver   as they are shown
#   seed         options of nearpmd with which frames go round without a prompt
#   start_text   the command that has frames go round
#   most_away    pages of a pool that may stay on another node: mlx5 asks for a completion with every
#                32nd frame it sends, so the last ones of a lcore that sends no more stay in its TX ring
# shellcheck disable=SC2034
case ${NEARPMD_PORTS:-null} in
  null)
    pair=(--vdev=net_null0 --vdev=net_null1) seed=() start_text=start
    port_names=(net_null0 net_null1) port_driver=net_null
    most_away=0
    below=()
    ;;
  connectx4)
    need_root
    pair=() seed=(--tx-first) start_text='start tx_first 4'
    port_names=(0000:81:00.0 0000:81:00.1) port_driver=mlx5_pci
    most_away=31
    # below: what nearpmd is started with; a test may add options of the launcher.
    below=("$build_dir/drivers/connectx4/launcher/connectx4" --netns --lossless on)
    export CONNECTX4_BASE=$work/connectx4
    ;;
  *) skip_all "there are no ports of the kind $NEARPMD_PORTS" ;;
esac

# nearpmd_command LCORES arguments...: sets the array command.
nearpmd_command() {
  local lcores=$1 argument
  shift
  eal_arguments 128
  command=("$nearpmd" "--lcores=$lcores")
  for argument in "${eal[@]:2}"; do
    [[ $argument == --no-pci && ${#below[@]} -gt 0 ]] || command+=("$argument")
  done
  command+=("$@")
  [[ ${#below[@]} -eq 0 ]] || command=("${below[@]}" -- "${command[@]}")
}

# begin LCORES arguments...: starts nearpmd as 'pmd', its input held open.
begin() {
  nearpmd_command "$@"
  start pmd "${command[@]}"
}

# begin_held LCORES arguments...: for scenarios that do not care which ports hold their buffers: those of
# the hold PMD, or those of mlx5, with TX rings that take all there is.
begin_held() {
  if [[ $port_driver == mlx5_pci ]]; then
    begin "$1" "${@:2}" --rxd=256 --txd=1024
  else
    begin_hold "$1" "${@:2}" --rxd=256 --txd=256
  fi
}

# begin_hold LCORES arguments...: starts it with two ports that hold buffers as mlx5 does
# (hold_pmd.cc); HOLD_FRAMES=N and the like stand before the call.
begin_hold() {
  hold_command "$1" --vdev=net_null_hold0 --vdev=net_null_hold1 "${@:2}"
  start pmd "${command[@]}"
}
# hold_command LCORES arguments...: as nearpmd_command; ports called net_null_hold... hold buffers.
hold_command() {
  nearpmd_command "$@"
  command[0]=$nearpmd_hold
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

# ask_until SECONDS TEXT REGEX: asks again until the answer matches.
ask_until() { wait_for "$1" _asked "$2" "$3"; }
_asked() {
  send pmd "$1"
  expect pmd "$2" 1
}

# all_local NODE: the pool of port 0's first queue is there, emulated, and so are its pages.
all_local() {
  send pmd 'show page_pool 0 0'
  expect pmd "^pool p0q0 .*node $1 \\(emulated\\)" 5 && expect pmd '^  local' 5 &&
    [[ $line =~ :\ ([0-9]+)\ of\ ([0-9]+) ]] && ((BASH_REMATCH[2] - BASH_REMATCH[1] <= most_away))
}

# done_well: quits; the books have to balance.
done_well() {
  send pmd quit
  expect pmd '^the books balance' 30 && finish pmd "${1:-0}" 30
}
