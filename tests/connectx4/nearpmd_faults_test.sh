#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each fault of the device, again and again under load: nearpmd goes on, and every page comes back.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
launcher=("${below[@]}")

# counts PORT NAME: leaves an extended statistic in $value.
counts() { ask "show port xstats $1" "^  $2: [0-9]+" && value=${line##*: }; }
above() { counts "$1" "$2" && ((value > $3)); }
received() { ask 'show fwd stats all' '^port 0 .*: received [0-9]+' && [[ $line =~ received\ ([0-9]+) ]] && value=${BASH_REMATCH[1]}; }
more_come_in() { received && ((value > before + 1000)); }
goes_on() { received && before=$value && wait_for 20 more_come_in; }

# with NAME FAULT [LAUNCHER_OPTIONS...]: frames of a capture come in at port 0 for ever and leave at 1.
with() {
  name=$1
  below=("${launcher[@]}" "${@:3}" --fault "$2" --wire "0=pcap:in=$data_dir/capture.pcap:repeat=0"
    --wire "1=pcap:out=/dev/null")
  begin 0@0,1@1 -- -i --hardened --rxd=256 --txd=512
  check "$name: start" ask start '^nearpmd> start'
}
# ends_well: after the fault.
ends_well() {
  check "$name: frames go on" goes_on
  check "$name: no page was misused" ask 'show page_pool 0 0' 'misrouted 0, misuse 0$'
  check "$name: the books balance" done_well
}

with rx-error rx-error:at=5000:every=20000:port=0
check "rx-error: it happens" wait_for 20 above 0 rx_wqe_errors 2
ends_well
with tx-error tx-error:at=5000:every=20000:port=1
check "tx-error: it happens" wait_for 20 above 1 tx_phy_errors 2
ends_well
with tx-stall tx-stall:at=5000:every=20000:port=1:ms=50
check "tx-stall: what does not fit is dropped meanwhile, and counted" wait_for 20 ask_until 1 'show fwd stats all' \
  'tx-full [1-9]'
ends_well
with no-buffer no-buffer:at=5000:every=20000:count=500:port=0 --lossless off
check "no-buffer: it happens" wait_for 20 above 0 rx_out_of_buffer 499
ends_well
# Again and again, so that one is seen however long the start took.
flaps=()
for ((i = 1; i <= 15; i++)); do flaps+=(--fault "flap:at=$((i * 5000)):port=0:ms=2000"); done
with flap flap:at=1000:port=0:ms=1000 "${flaps[@]}"
check "flap: down" ask_until 20 'show port summary' '^0 .* down '
check "flap: up" ask_until 20 'show port summary' '^0 .* up '
ends_well
tap_done
