#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds and runs a benchmark:  scripts/bench.sh NAME [options]     no name: lists what there is.
#   --json FILE    writes the figures to FILE, if the benchmark has figures to write
#   --help         the benchmark's own options
# Figures are of the machine this runs on; what else runs there shows in them.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# For the largest pools of a benchmark, if it can be done: 768 MiB.
bench_hugepages=384

# A benchmark is tests/perf/NAME_bench.cc or .py; its first line after the licence says what it is.
shopt -s nullglob
declare -A benchmarks=()
for path in "$root"/tests/perf/*_bench.{cc,py}; do
  name=$(basename "$path")
  benchmarks[${name%_bench.*}]=$path
done

if [[ $# -eq 0 ]]; then
  echo "benchmarks (scripts/bench.sh NAME [options]):"
  for name in "${!benchmarks[@]}"; do
    printf '  %-10s %s\n' "$name" \
      "$(sed -nE '/SPDX/{n;s,^(//|#|""") ?,,;s/"""$//;p;q}' "${benchmarks[$name]}")"
  done | sort
  exit 0
fi
name=$1
shift
path=${benchmarks[$name]:-}
[[ -n $path ]] || die "no benchmark '$name': there are ${!benchmarks[*]}"

bash "$root/scripts/deps.sh" build test
{ configure build -Dtests=enabled && build build; } >&2
ensure_hugepages "$bench_hugepages" ||
  note "only $(free_hugepages) of $bench_hugepages 2 MiB hugepages are free: run as root, or reserve them, for figures that count"

case $path in
  *.py) NEARPOOL_SOURCE=$root NEARPOOL_BUILD=$root/build exec python3 "$path" "$@" ;;
  *) exec "$root/build/tests/perf/${name}_bench" "$@" ;;
esac
