#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 64-byte frames between two software ConnectX-4 ports, with testpmd of DPDK on one lcore:
#   tests/perf/connectx4_bench.sh [-b BUILD] [-s SECONDS] [-r] [-- testpmd options]
# -r runs it with real-time priority, for a machine that others use too; keep it short then.
# Prints: mpps=RATE device_ns=TIME best_device_ns=TIME device_busy=SHARE
# RATE counts each forwarded frame once, over both ports. Two CPUs: one for the lcore, one for the device.
set -euo pipefail
build=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build
seconds=3 priority=()
while getopts b:s:r option; do
  case $option in
    b) build=$OPTARG ;;
    s) seconds=$OPTARG ;;
    r) priority=(chrt -r 5) ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# testpmd has no way to be asked from outside: it reads commands from a pipe, and is told when to stop.
mkfifo "$work/commands"
"${priority[@]}" "$build/drivers/connectx4/launcher/connectx4" --netns --ports 2 --lossless on \
  --report "$work/report" -- \
  stdbuf -oL dpdk-testpmd -l 0,1 --in-memory -m 256 --no-telemetry "--file-prefix=cx4_bench_$$" -- \
  -i --nb-cores=1 --burst=64 --rxd=1024 --txd=1024 --total-num-mbufs=16384 "$@" \
  <"$work/commands" >"$work/log" 2>&1 &
testpmd=$!
exec 3>"$work/commands"

# wait_for N WORDS: until N lines of the log have these words.
wait_for() {
  local limit=$((SECONDS + 60))
  until (($(grep -c -- "$2" "$work/log") >= $1)); do
    if ((SECONDS > limit)) || ! kill -0 "$testpmd" 2>/dev/null; then
      tail -n 20 "$work/log" >&2
      exit 1
    fi
    sleep 0.02
  done
}
# Asks for the N-th time. An answer is complete when testpmd prints the line behind it.
ask() {
  echo "show port stats all" >&3
  wait_for "$((4 * $1))" '####.*####'
}

echo "start tx_first 8" >&3
wait_for 1 'packets/burst=64'
sleep 0.5
ask 1
begin=$(date +%s%N)
sleep "$seconds"
ask 2
end=$(date +%s%N)
# Two ports, two answers.
frames=$(awk '/RX-packets/ {count[++lines] = $2}
  END {print count[3] + count[4] - count[1] - count[2]}' "$work/log")
printf 'stop\nquit\n' >&3
exec 3>&-
wait "$testpmd"

read -r device best busy < <(sed -n \
  's/.* ns_per_frame=\([0-9.]*\) best_ns_per_frame=\([0-9.]*\) busy=\([0-9.]*\)/\1 \2 \3/p' "$work/report")
awk -v frames="$frames" -v span=$((end - begin)) -v device="$device" -v best="$best" \
  -v busy="$busy" 'BEGIN {
    printf "mpps=%.2f device_ns=%s best_device_ns=%s device_busy=%s\n", frames * 1000 / span, device, best, busy }'
