#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/run.sh without arguments does the main job; arguments reach nearpmd as they are.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# tells PROGRAM: the steps of the main job, in their order.
tells() {
  check "the genuine driver has both ports" expect "$1" 'port 1: 0000:81:00.1, .*driver mlx5_pci, link up' 60
  [[ $(echo /sys/devices/system/node/node[0-9]*) == *' '* ]] ||
    check "an emulated node is called so" expect "$1" 'This machine has one node: the second is emulated' 5
  check "frames go round" expect "$1" '^ +[0-9.]+ million frames a second: [0-9.]+ out of port 0' 30
  check "the pool follows its queue to the other node" expect "$1" '^ +[0-9]+ ms +1 +[1-9]' 60
  check "pages of the node it left are refused" expect "$1" '[1-9][0-9,]* pages of node 0.*were refused and went home' 60
  check "pages come back in bulk, port 0" expect "$1" 'pool p0q0: .*came back from the other lcore in [0-9,]+ calls, [1-9][0-9]+ a call' 90
  check "and port 1" expect "$1" 'pool p1q0: .*came back from the other lcore' 60
  check "nothing is left on the other node" expect "$1" 'pool p0q0 on node 1.*; 0 of another node' 30
  check "the arena's books" expect "$1" 'arena: created [0-9,]+ = free' 5
}

start job bash "$source_dir/scripts/run.sh"
tells job
check "the books balance" expect job '^  the books balance' 30
check "without a terminal it ends by itself, with 0" finish job 0 20

need_program script # which gives it a terminal
start job script -qefc "bash $source_dir/scripts/run.sh" /dev/null
tells job
check "on a terminal it stays at its prompt" expect job 'nearpmd stays at its prompt' 30
send job 'show numa'
check "which answers" expect job '^topology: ' 20
send job quit
check "the books balance there too" expect job '^the books balance' 30
check "and its exit code is nearpmd's" finish job 0 20

# Ended early, it has not shown what it is to show.
start job bash "$source_dir/scripts/run.sh"
check "it forwards" expect job 'million frames a second' 60
stop job INT
check "SIGINT ends it, and not with 0" finish job 130 30

eal_arguments 128
start own bash "$source_dir/scripts/run.sh" "${eal[@]}" --vdev=net_null0 -- --no-such-option
check "arguments reach nearpmd" expect own 'no-such-option' 60
check "which refuses a wrong one" finish own 1 20

# As a user without rights, on ordinary pages. The folder of the project may be one that nobody else
# may enter, so the job sees it somewhere else, in a mount namespace of its own.
job=("$work/source/scripts/main_job.py" "--nearpmd=$work/build/app/nearpmd/nearpmd"
  "--connectx4=$work/build/drivers/connectx4/launcher/connectx4" --no-huge)
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
# shellcheck disable=SC2016 # for the shell that is started
elsewhere=(unshare -m sh -c 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && shift 4 && exec "$@"'
  sh "$source_dir" "$work/source" "$build_dir" "$work/build")
if [[ $(id -u) -eq 0 ]] && "${nobody[@]}" unshare -Ur true 2>/dev/null; then
  mkdir "$work/source" "$work/build"
  mkdir -m 0777 "$work/ports"
  chmod 0755 "$work"
  start job env "CONNECTX4_BASE=$work/ports" "${elsewhere[@]}" "${nobody[@]}" unshare -Ur \
    python3 "${job[@]}"
  check "no rights, no hugepages: the books balance" expect job '^  the books balance' 120
  check "it ends with 0" finish job 0 20
else
  skip "no rights, no hugepages" "needs root, and users who may make user namespaces"
fi
tap_done
