#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/run.sh without arguments does the main job; arguments reach nearpmd as they are.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

start job bash "$source_dir/scripts/run.sh"
check "each port forwards the whole capture" expect job 'port 0 .*received 2000 = forwarded 2000' 60
check "the other one too" expect job 'port 1 .*received 2000 = forwarded 2000' 5
check "the books balance" expect job '^the books balance$' 5
check "it ends by itself, with 0" finish job 0 20

eal_arguments 128
start own bash "$source_dir/scripts/run.sh" "${eal[@]}" --vdev=net_null0 -- --no-such-option
check "arguments reach nearpmd" expect own 'no-such-option' 60
check "which refuses a wrong one" finish own 1 20
tap_done
