#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing, builds, reserves hugepages if it can, and runs nearpmd.
#   scripts/run.sh                         forwards a capture through two pools and prints the books
#   scripts/run.sh -a 0000:81:00.0 -- -i   arguments go to nearpmd as they are
# Only installing packages and reserving hugepages need root.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What the job below needs, in pages of 2 MiB, and the same in MiB.
job_hugepages=128
job_megabytes=256

bash "$root/scripts/deps.sh" build

log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$log" "$work"' EXIT

# A build directory with tests stays one.
options=()
[[ -f $root/build/build.ninja ]] || options=(-Dtests=disabled)
if ! { configure build "${options[@]}" && build build app/nearpmd/nearpmd; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  die "the build failed: its last lines are above"
fi
nearpmd=$root/build/app/nearpmd/nearpmd

memory=(--in-memory "--file-prefix=nearpmd-$$")
if ! ensure_hugepages "$job_hugepages"; then
  # The EAL refuses --in-memory then; --no-shconf is what is left of it.
  memory=(--no-huge --no-shconf "--file-prefix=nearpmd-$$")
  note "$(free_hugepages) of $job_hugepages hugepages of 2 MiB are free$(is_root ||
    echo ' and only root may reserve more'): with ordinary pages, slower"
fi

if [[ $# -gt 0 ]]; then
  # nearpmd takes the place of this script, so that signals and the terminal are its own.
  rm -rf "$log" "$work"
  exec "$nearpmd" "$@"
fi

capture=$root/tests/data/capture.pcap
"$nearpmd" -l 0,1 -m "$job_megabytes" "${memory[@]}" --no-pci \
  --vdev="net_pcap0,rx_pcap=$capture,tx_pcap=$work/port0.pcap" \
  --vdev="net_pcap1,rx_pcap=$capture,tx_pcap=$work/port1.pcap" \
  -- --forward-mode=redirect
