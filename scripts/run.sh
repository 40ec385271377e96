#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing, builds, reserves hugepages if it can, and runs nearpmd.
#   scripts/run.sh                         the main job, on two software ConnectX-4 ports: main_job.py
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
trap 'rm -f "$log"' EXIT

# A build directory with tests stays one.
options=()
if [[ ! -f $root/build/build.ninja ]]; then
  options=(-Dtests=disabled)
  note "building in $root/build, which takes a few minutes the first time"
fi
connectx4=drivers/connectx4
targets=(app/nearpmd/nearpmd "$connectx4"/launcher/connectx4
  "$connectx4"/lib/lib{ibverbs.so.1,mlx5.so.1,connectx4_shim.so})
if ! { configure build "${options[@]}" && build build "${targets[@]}"; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  die "the build failed: its last lines are above"
fi
nearpmd=$root/build/app/nearpmd/nearpmd

hugepages=yes
if ! ensure_hugepages "$job_hugepages"; then
  hugepages=
  note "$(free_hugepages) of $job_hugepages hugepages of 2 MiB are free$(is_root ||
    echo ' and only root may reserve more'): with ordinary pages, slower"
fi

# What is run takes the place of this script, so that signals and the terminal are its own.
rm -f "$log"
trap - EXIT
if [[ $# -gt 0 ]]; then
  exec "$nearpmd" "$@"
fi

job=(python3 "$root/scripts/main_job.py" "--nearpmd=$nearpmd" "--memory=$job_megabytes"
  "--connectx4=$root/build/$connectx4/launcher/connectx4")
[[ -n $hugepages ]] || job+=(--no-huge)
is_root && exec "${job[@]}"
# The ports' control netdevs need rights over a network: one of this user's own has them.
unshare --user --map-root-user true 2>/dev/null ||
  die "the ports need network interfaces of their own, and this user may not make any: run it as root"
export CONNECTX4_BASE=${CONNECTX4_BASE:-${XDG_RUNTIME_DIR:-/tmp}/connectx4-$(id -u)}
exec unshare --user --map-root-user "${job[@]}"
