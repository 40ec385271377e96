#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Captures in, captures out: each verdict, each kind of file, byte for byte.
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# forward IN0 IN1 options...: out is in $work/out0 and out1.
forward() {
  local in0=$1 in1=$2
  shift 2
  run "$three_lcores" --vdev="net_pcap0,rx_pcap=$in0,tx_pcap=$work/out0.pcap" \
    --vdev="net_pcap1,rx_pcap=$in1,tx_pcap=$work/out1.pcap" -- "$@"
}

for mode in redirect redirect-cpu; do
  forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" "--forward-mode=$mode" --hardened
  check "$mode: it ends, the books balance" ended 0
  check "$mode: a capture comes out of the other port" \
    compare_captures "$data_dir/capture.pcap" "$work/out1.pcap"
  check "$mode: what is not looked at passes, from 0 bytes to 9,000 in several segments" \
    compare_captures "$data_dir/odd_sizes.pcap" "$work/out0.pcap"
done

forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" --touch=read-data
check "where bytes are read, only runts are missing, by name" \
  said 'received 7 = forwarded 4 \+ runt 3$'
check "and the rest comes out" compare_captures \
  --allow-drop-sizes 0,1,13 --expect-dropped 3 "$data_dir/odd_sizes.pcap" "$work/out0.pcap"

forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" --forward-mode=tx
check "tx: the same port, addresses swapped" \
  compare_captures --swap-macs "$data_dir/capture.pcap" "$work/out0.pcap"
check "tx: in the frames of all sizes too" compare_captures --swap-macs \
  --allow-drop-sizes 0,1,13 --expect-dropped 3 "$data_dir/odd_sizes.pcap" "$work/out1.pcap"

# Headers spread over segments: one buffer holds 128 bytes of a frame.
forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" --forward-mode=tx --mbuf-size=256 \
  --total-num-pages=4096
check "tx: with small buffers" \
  compare_captures --swap-macs "$data_dir/capture.pcap" "$work/out0.pcap"

forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" --forward-mode=drop --touch=parse-ip
check "drop: counted by its name" said 'received 2000 = forwarded 0 \+ verdict-drop 2000$'
check "drop: nothing comes out" compare_captures "$data_dir/empty.pcap" "$work/out0.pcap"

forward "$data_dir/truncated.pcap" "$data_dir/empty.pcap" --touch=read-data
check "a file that is cut off ends, and is an error of the device" said 'rx 19, .*rx errors 1,'
check "what was before comes out" compare_captures --allow-truncated-input \
  "$data_dir/truncated.pcap" "$work/out1.pcap"

for file in nanosecond big_endian big_endian_nanosecond short_snaplen; do
  forward "$data_dir/$file.pcap" "$data_dir/empty.pcap"
  check "$file: all 20 frames" said 'received 20 = forwarded 20$'
done

# The same program on a stock mempool.
forward "$data_dir/capture.pcap" "$data_dir/odd_sizes.pcap" --pool-ops=ring_mp_mc
check "stock mempool: the books balance" ended 0
check "stock mempool: byte for byte" \
  compare_captures "$data_dir/capture.pcap" "$work/out1.pcap"

# Too few pages: what is lost has a name.
forward "$data_dir/capture.pcap" "$data_dir/capture.pcap" --total-num-pages=64
check "64 pages: a warning with numbers" said '64 pages per node are fewer than the [0-9]+'
received=$(sed -n 's/^port 0 .*: received \([0-9]*\) .*/\1/p' "$work/run")
nombuf=$(sed -n 's/^  device: rx [0-9]*,.*(nombuf) \([0-9]*\),.*/\1/p' "$work/run" | head -n 1)
check "64 pages: 2000 = received $received + no buffer $nombuf" test $((received + nombuf)) -eq 2000
tap_done
