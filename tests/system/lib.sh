# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For system tests in bash: results, waiting with a deadline, programs on a pipe, DPDK, namespaces.
# A test sources this file, calls what it needs and ends with tap_done:
#
#   . "$(dirname "$0")/lib.sh"
#   need_hugepages 64
#   start pmd nearpmd_or_the_like ...
#   check "it comes up" expect pmd 'ready' 20
#   send pmd quit
#   check "it ends well" finish pmd 0 20
#   tap_done
#
# All deadlines are in seconds of an idle machine; for a busy one or a sanitizer they are stretched.
# Whatever a test starts or makes through these functions is gone when it ends, however it ends.
set -uo pipefail

source_dir=${NEARPOOL_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build_dir=${NEARPOOL_BUILD:-$source_dir/build}
sanitize=${NEARPOOL_SANITIZE:-none}
# shellcheck disable=SC2034 # for the tests
data_dir=$source_dir/tests/data
work=$(mktemp -d "${TMPDIR:-/tmp}/nearpool-test.XXXXXX")

poll_seconds=0.05
stretch=3
[[ $sanitize == none ]] || stretch=10

# --- results -------------------------------------------------------------------------------------

tap_count=0 tap_failed=0 tap_ended=
_tap() {
  tap_count=$((tap_count + 1))
  printf '%s %d - %s\n' "$1" "$tap_count" "$2"
}
ok() { _tap ok "$1"; }
# not_ok NAME [detail...]
not_ok() {
  tap_failed=$((tap_failed + 1))
  _tap 'not ok' "$1"
  shift
  [[ $# -eq 0 ]] || printf '%s\n' "$@" | sed 's/^/# /'
}
skip() { _tap ok "$1 # SKIP $2"; }
say() { printf '%s\n' "$*" | sed 's/^/# /'; }

# check NAME command...: ok when the command succeeds; shows what it said when not.
# A function of the test sees the local names here, hence the underscores.
check() {
  local _check=$1
  shift
  # Not in a subshell: expect and finish leave something behind.
  if "$@" >"$work/check.out" 2>&1; then
    ok "$_check"
    return 0
  fi
  not_ok "$_check" "failed: $*" "$(uniq "$work/check.out" | tail -n 40)"
  return 1
}

tap_done() {
  tap_ended=yes
  echo "1..$tap_count"
  exit $((tap_failed ? 1 : 0))
}

# skip_all WHY: for what this place cannot do at all.
skip_all() {
  tap_ended=yes
  echo "1..0 # SKIP $1"
  exit 0
}

need_root() { [[ $(id -u) -eq 0 ]] || skip_all "needs root"; }
need_program() { command -v "$1" >/dev/null || skip_all "needs the program $1"; }
# need_hugepages N: N free 2 MiB pages.
need_hugepages() {
  local free
  free=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null || echo 0)
  ((free >= $1)) || skip_all "needs $1 free hugepages of 2 MiB, there are $free"
}

# --- leaving nothing behind ----------------------------------------------------------------------

_cleanups=()
# on_exit command...: runs at the end of the test, the last one given first.
on_exit() { _cleanups+=("$(printf '%q ' "$@")"); }

_at_exit() {
  local at
  trap - EXIT INT TERM
  for ((at = ${#_cleanups[@]} - 1; at >= 0; at--)); do
    eval "${_cleanups[at]}" >/dev/null 2>&1
  done
  rm -rf "$work"
  [[ -n $tap_ended ]] || echo "Bail out! the script ended before tap_done"
}
trap _at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- waiting -------------------------------------------------------------------------------------

# wait_for SECONDS command...: until the command succeeds; fails when the time is over.
wait_for() {
  local _wait_end=$((SECONDS + $1 * stretch + 1))
  shift
  until "$@"; do
    ((SECONDS < _wait_end)) || return 1
    sleep "$poll_seconds"
  done
}

# --- programs on a pipe --------------------------------------------------------------------------

declare -A _pid=() _input=() _seen=()

# output NAME: the file that holds all the program has written, errors too.
output() { echo "$work/$1.out"; }

# start NAME command...: in the background, its input held open for send.
start() {
  local name=$1 descriptor
  shift
  : >"$(output "$name")" # what an earlier program of this name has said must not be found again
  rm -f "$work/$name.in"
  mkfifo "$work/$name.in"
  exec {descriptor}<>"$work/$name.in" # both ways, so that opening it waits for nobody
  (
    # A program that holds the pipe of another would keep it from seeing the end of its input.
    for descriptor in "$descriptor" "${_input[@]}"; do exec {descriptor}>&-; done
    exec "$@"
  ) <"$work/$name.in" >"$(output "$name")" 2>&1 &
  _pid[$name]=$! _input[$name]=$descriptor _seen[$name]=0
  on_exit stop_now "$name"
}

pid_of() { echo "${_pid[$1]}"; }
is_running() { [[ -n ${_pid[$1]:-} ]] && kill -0 "${_pid[$1]}" 2>/dev/null; }
is_over() { ! is_running "$1"; }

# send NAME text: one line.
send() { printf '%s\n' "$2" >&"${_input[$1]}"; }

# send_end NAME: end of input.
send_end() {
  local descriptor=${_input[$1]}
  exec {descriptor}>&-
  unset "_input[$1]"
}

_next_match() {
  local name=$1 found
  found=$(tail -n "+$((_seen[$name] + 1))" "$(output "$name")" | grep -n -m1 -E -- "$2") || return 1
  _seen[$name]=$((_seen[$name] + ${found%%:*}))
  # shellcheck disable=SC2034 # for the tests
  line=${found#*:}
}
_match_or_over() { _next_match "$1" "$2" || is_over "$1"; }

# expect NAME REGEX SECONDS: waits for a line, after the last one expected, and leaves it in $line.
expect() {
  local before=${_seen[$1]}
  wait_for "$3" _match_or_over "$1" "$2"
  ((_seen[$1] > before)) && return 0
  # What a program wrote last may have come between the look at its output and at its end.
  _next_match "$1" "$2" && return 0
  echo "no line matches '$2' within $3 s (program $(is_running "$1" && echo runs || echo has ended)); the last were:"
  tail -n 25 "$(output "$1")"
  return 1
}

# finish NAME CODE SECONDS: waits for the end of the program, which has to be with this exit code.
finish() {
  local code
  if ! wait_for "$3" is_over "$1"; then
    echo "still runs after $3 s; its last lines:"
    tail -n 25 "$(output "$1")"
    return 1
  fi
  wait "${_pid[$1]}"
  code=$?
  unset "_pid[$1]"
  ((code == $2)) && return 0
  echo "exit code $code, not $2; its last lines:"
  tail -n 25 "$(output "$1")"
  return 1
}

# stop NAME SIGNAL: asks the program to end.
stop() { kill "-$2" "${_pid[$1]}"; }

stop_now() {
  is_running "$1" || return 0
  kill -TERM "${_pid[$1]}"
  wait_for 5 is_over "$1" || kill -KILL "${_pid[$1]}"
  wait "${_pid[$1]}"
}

# --- DPDK ----------------------------------------------------------------------------------------

_prefixes=0
# eal_arguments MEGABYTES [LCORES]: sets the array eal to what every DPDK program here is started
# with: a prefix of its own, no PCI device, memory that vanishes with the process.
eal_arguments() {
  local prefix=nearpool-test-$$-$((_prefixes += 1)) runtime
  eal=(-l "${2:-0,1}" -m "$1" --no-pci "--file-prefix=$prefix")
  if (($(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null || echo 0) * 2 >= $1)); then
    eal+=(--in-memory)
  else
    eal+=(--no-huge) # refuses --in-memory
  fi
  runtime=${RUNTIME_DIRECTORY:-/var/run}
  [[ $(id -u) -eq 0 ]] || runtime=${XDG_RUNTIME_DIR:-/tmp}
  on_exit rm -rf "$runtime/dpdk/$prefix"
}

_is_private() {
  local directory
  directory=$(realpath "$1")
  while :; do
    [[ -z $(find "$directory" -maxdepth 0 -perm -o+w) ]] || return 1
    [[ $directory != / ]] || return 0
    directory=$(dirname "$directory")
  done
}

# plugin_path: sets plugin to a path of the plugin that the EAL takes for -d. It refuses one below a
# directory that everybody may write to, which a build directory may well be; then a copy is used.
plugin_path() {
  local built private
  built=$(find "$build_dir" -name librte_mempool_page_pool.so -print -quit)
  [[ -n $built ]] || {
    echo "no librte_mempool_page_pool.so below $build_dir"
    return 1
  }
  plugin=$(realpath "$built")
  _is_private "$(dirname "$plugin")" && return 0
  for private in /run "${XDG_RUNTIME_DIR:-/nonexistent}" "$HOME"; do
    if [[ -w $private ]] && _is_private "$private"; then
      private=$(mktemp -d "$private/nearpool-test.XXXXXX")
      on_exit rm -rf "$private"
      cp "$plugin" "$private/"
      plugin=$private/$(basename "$plugin")
      return 0
    fi
  done
  echo "no directory that only this user may write to, for a copy of $plugin"
  return 1
}

# testpmd_on_plugin MEGABYTES [LCORES]: sets the array testpmd to the start of a command line of
# Debian's dpdk-testpmd with the plugin and its pools; EAL options, -- and its own options follow.
testpmd_on_plugin() {
  plugin_path || return 1
  eal_arguments "$@"
  # Line by line, as on a terminal: what it has said must be there to be expected.
  testpmd=(stdbuf -oL dpdk-testpmd "${eal[@]}" -d "$plugin" --mbuf-pool-ops-name=page_pool)
  case $sanitize in
    # testpmd itself is not built with it, so the runtime of the plugin has to come first.
    *address*) testpmd=(env "LD_PRELOAD=$(gcc -print-file-name=libasan.so)" "${testpmd[@]}") ;;
    thread) skip_all "a program without ThreadSanitizer cannot load a plugin with it" ;;
  esac
}

# --- networks ------------------------------------------------------------------------------------

# new_namespace: makes a network namespace with a name of its own and leaves it in $namespace.
_namespaces=0
new_namespace() {
  namespace=nearpool-$$-$((_namespaces += 1))
  ip netns add "$namespace" || return 1
  on_exit ip netns delete "$namespace"
  ip -n "$namespace" link set lo up
}

# inside NAMESPACE command...
inside() { ip netns exec "$@"; }

# veth_pair NAMESPACE A B: both ends up, silent (no IPv6 of their own).
veth_pair() {
  local end
  ip -n "$1" link add "$2" type veth peer name "$3" || return 1
  for end in "$2" "$3"; do
    inside "$1" bash -c "echo 1 >/proc/sys/net/ipv6/conf/$end/disable_ipv6" || return 1
    ip -n "$1" link set "$end" up || return 1
  done
}

# compare_captures [options] IN OUT: see pcap_compare.py.
compare_captures() { python3 "$source_dir/tests/system/pcap_compare.py" "$@"; }
