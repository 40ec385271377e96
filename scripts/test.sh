#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds and runs the tests:  scripts/test.sh [suite...]     no suite named: all there are.
#   unit      GoogleTest, the tests of scripts and test data
#   system    whole programs
#   vm        whole programs in guests with two and four NUMA nodes
#   sanitize  the tests marked 'sanitize', under ASAN with UBSAN and under TSAN
#   layers    order of the layers, headers, format, warnings of a second compiler
# and each other directory tests/NAME that has a meson.build.
# The last line is 'N passed, N failed, N skipped'. With CI=true a skipped case is a failure.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# Reserved for the tests if it can be done: 768 MiB.
test_hugepages=384
# How much more than its own time limit a test gets: a busy machine is no fault of the code, and
# sanitizers slow a test down.
patience=4
sanitizer_patience=10

# Nobody measures these: line numbers, and code that builds sooner than that of -O2 -g.
sanitized_build=(-Doptimization=1 -Ddebug=false -Dc_args=-g1 -Dcpp_args=-g1)

# ASAN: the EAL reserves gigabytes of addresses and asks for them at 4 GiB, which ASAN's shadow gap
# covers; it then takes what the kernel gives, so no option is needed for it. A leak is a failure.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7
[[ -f config/lsan.supp ]] && export LSAN_OPTIONS=suppressions=$root/config/lsan.supp:print_suppressions=0
[[ -f config/tsan.supp ]] && TSAN_OPTIONS+=:suppressions=$root/config/tsan.supp

passed=0 failed=0 skipped=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# prepare DIR [meson options]: configures and builds; what does not build is a failure. With $only
# set to a suite, what the tests of that suite need is built and nothing else.
prepare() {
  local dir=$1 log started=$SECONDS targets=()
  shift
  log=$(mktemp)
  if {
    configure "$dir" -Dtests=enabled "$@" &&
      if [[ -n ${only:-} ]]; then
        # A directory of an earlier tree learns first what there is to build now.
        build "$dir" build.ninja && mapfile -t targets < <(python3 scripts/test_targets.py "$dir" "$only")
      fi &&
      build "$dir" "${targets[@]}"
  } >"$log" 2>&1; then
    echo "built $dir in $((SECONDS - started)) s"
    rm -f "$log"
    return 0
  fi
  # The first error is the one to mend.
  if grep -q -E '^FAILED|ERROR' "$log"; then
    sed -n '/^FAILED\|ERROR/,$p' "$log" | head -n 40
  else
    tail -n 40 "$log"
  fi
  rm -f "$log"
  fail "$dir does not build"
  return 1
}

# run_in DIR SUITE [meson test options]: runs a suite in a build directory and adds its cases up.
run_in() {
  local dir=$1 suite=$2 counts p f s
  shift 2
  rm -f "$dir/meson-logs/$suite.json"
  # The collector counts, so a failing test must not end this script here.
  meson test -C "$dir" --no-rebuild --suite "$suite" --logbase "$suite" \
    --timeout-multiplier "$patience" "$@" >/dev/null 2>&1 || true
  if ! counts=$(python3 scripts/collect_results.py "$dir" "$suite" --suite "$suite"); then
    fail "$suite in $dir: the results could not be read"
    return
  fi
  read -r p f s <<<"$counts"
  echo "$suite in $dir: $p passed, $f failed, $s skipped"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

suite_layers() {
  # A second compiler has to like everything, tests included.
  if CC=clang-14 CXX=clang++-14 prepare build-clang --buildtype=release; then
    passed=$((passed + 1))
  fi
  prepare build && run_in build layers
}

suite_sanitize() {
  local wrapper=() only=sanitize
  prepare build-asan "${sanitized_build[@]}" -Db_sanitize=address,undefined -Db_lundef=false &&
    run_in build-asan sanitize --timeout-multiplier "$sanitizer_patience"
  # TSAN of gcc 12 and clang 14 finds no place for its shadow when addresses are drawn from more bits.
  if (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)); then
    wrapper=(--wrapper 'setarch -R')
  fi
  prepare build-tsan "${sanitized_build[@]}" -Db_sanitize=thread -Db_lundef=false &&
    run_in build-tsan sanitize --timeout-multiplier "$sanitizer_patience" "${wrapper[@]}"
}

run_suite() {
  case $1 in
    layers) suite_layers ;;
    sanitize) suite_sanitize ;;
    *) prepare build && run_in build "$1" ;;
  esac || true # what failed is counted
}

# Suites there are, the quick ones first. tools, data and model belong to unit, perf to system.
suites_there_are() {
  local known=(layers unit system sanitize) file name
  for file in tests/*/meson.build; do
    name=$(basename "$(dirname "$file")")
    case " ${known[*]} tools data model perf " in *" $name "*) ;; *) known+=("$name") ;; esac
  done
  echo "${known[@]}"
}

read -ra there_are <<<"$(suites_there_are)"
suites=("$@")
[[ $# -gt 0 ]] || suites=("${there_are[@]}")
for suite in "${suites[@]}"; do
  case " ${there_are[*]} " in
    *" $suite "*) ;;
    *) die "no suite '$suite': there are ${there_are[*]}" ;;
  esac
done

bash scripts/deps.sh build test
is_root || note "not root: tests that need network namespaces or hugepages reserved will be skipped"
ensure_hugepages "$test_hugepages" ||
  note "only $(free_hugepages) of $test_hugepages 2 MiB hugepages are free: tests that need them will be skipped"

for suite in "${suites[@]}"; do
  started=$SECONDS
  run_suite "$suite"
  echo "suite $suite took $((SECONDS - started)) s"
done

status=0
((failed == 0)) || status=1
if [[ ${CI:-} == true && $skipped -gt 0 ]]; then
  echo "in CI nothing may be skipped"
  status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
