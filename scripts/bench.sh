#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds and runs a benchmark:  scripts/bench.sh NAME [options]     no name: lists what there is.
#   --json FILE    writes the figures to FILE, if the benchmark has figures to write
#   --help         the benchmark's own options
# Figures are of the machine this runs on; what else runs there shows in them.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# For the largest pool of a benchmark, if it can be done: 512 MiB.
bench_hugepages=256

# A benchmark is tests/perf/NAME_bench.cc or .py; its first line after the licence says what it is.
there_are() {
  local file
  for file in "$root"/tests/perf/*_bench.{cc,py}; do
    [[ -f $file ]] && echo "$file"
  done
}
name_of() { basename "$1" | sed 's/_bench\..*//'; }
list() {
  local file
  while read -r file; do
    printf '  %-10s %s\n' "$(name_of "$file")" \
      "$(sed -nE '/SPDX/{n;s,^(//|#|""") ?,,;s/"""$//;p;q}' "$file")"
  done < <(there_are)
}

if [[ $# -eq 0 ]]; then
  echo "benchmarks (scripts/bench.sh NAME [options]):"
  list
  exit 0
fi
name=$1
shift
file=$(there_are | while read -r file; do
  if [[ $(name_of "$file") == "$name" ]]; then echo "$file"; fi
done)
[[ -n $file ]] || die "no benchmark '$name': there are $(there_are | while read -r file; do name_of "$file"; done | tr '\n' ' ')"

bash "$root/scripts/deps.sh" build test
{ configure build -Dtests=enabled && build build; } >&2
ensure_hugepages "$bench_hugepages" ||
  note "only $(free_hugepages) of $bench_hugepages 2 MiB hugepages are free: run as root, or reserve them, for figures that count"

case $file in
  *.py) NEARPOOL_SOURCE=$root NEARPOOL_BUILD=$root/build exec python3 "$file" "$@" ;;
  *) exec "$root/build/tests/perf/${name}_bench" "$@" ;;
esac
