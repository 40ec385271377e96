#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What nearpmd forwards between two ports of the genuine mlx5 driver, byte for byte: in from one file
# and out to another, with each of the driver's receive functions.
# shellcheck disable=SC2317 # functions that check and wait_for call
NEARPMD_PORTS=connectx4
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/../system/nearpmd.sh"
launcher=("${below[@]}")

# Frames of 60 to 9,000 bytes, IPv4 and IPv6, TCP and UDP, tagged and not; in every third a byte is
# wrong, so that its checksum is.
PYTHONPATH=$data_dir python3 - "$work" <<'PYTHON'
import random
import sys
from pathlib import Path
import make_captures as make

rng = random.Random(4)
hosts = [make.Host(number) for number in range(8)]


def frames(largest):
    flows = [make.Flow(rng, hosts) for _ in range(40)]
    for size in sorted({60, 61, 126, 127, 128, 129, 1514, 2047, 2048, 2049, 9000} | set(range(60, 9001, 37))):
        if size > largest:
            return
        flow = rng.choice(flows)
        header = 14 + (4 if flow.vlan is not None else 0)
        kind = make.ETHER_IPV6 if flow.is_ipv6 else make.ETHER_IPV4
        frame = bytearray(make.ethernet(flow.destination.mac, flow.source.mac, flow.vlan, kind,
                                        make.ip_packet(rng, flow, size - header)))
        if size % 3 == 0:
            frame[-1] ^= 0x5a
        yield bytes(frame)


for name, largest in (("jumbo", 9000), ("plain", 1514)):
    Path(sys.argv[1], name + ".pcap").write_bytes(make.capture_file(list(frames(largest))))
PYTHON

all_through() { # FRAMES
  ask 'show fwd stats all' '^port 0 .*: received' || return 1
  # Through another lcore: what that one has sent is in the next line.
  [[ $line != *handed-off* ]] || expect pmd '^  (handed over|device)' 5
  [[ $line == *": received $1 = forwarded $1" ]]
}

# passes NAME FILE DEVICE_ARGUMENTS REGEX options...: FILE goes in at port 0 and comes out of port 1;
# REGEX is what the driver says of its receive function.
passes() {
  local name=$1 file=$2 device=$3 function=$4 frames
  shift 4
  frames=$(python3 -c '
import sys
sys.path.insert(0, sys.argv[1])
import pcap_compare
print(len(pcap_compare.read_capture(sys.argv[2])))' "$source_dir/tests/system" "$file")
  below=("${launcher[@]}" --wire "0=pcap:in=$file" --wire "1=pcap:out=$work/out.pcap" "${offer[@]}")
  begin "$three_lcores" -a "0000:81:00.0$device" -a "0000:81:00.1$device" --log-level=pmd.net.mlx5:debug \
    -- -i --hardened --no-flush-rx --txd=2048 "$@"
  check "$name: the driver takes this function" expect pmd "$function" 30
  check "$name: start" ask start '^nearpmd> start'
  check "$name: all frames" wait_for 20 all_through "$frames"
  check "$name: the books balance" done_well
  check "$name: byte for byte" compare_captures "$file" "$work/out.pcap"
}

offer=()
passes vector "$data_dir/capture.pcap" '' 'port 0 selected vectorized SPRQ Rx function'
passes "wrong checksums" "$work/plain.pcap" '' 'port 0 selected vectorized SPRQ Rx function'
passes scalar "$data_dir/capture.pcap" ,rx_vec_en=0 'port 0 selected SPRQ Rx function'
passes "one to five segments" "$work/jumbo.pcap" '' 'port 0 selected SPRQ Rx function' --max-pkt-len=9018
passes "many small segments" "$work/plain.pcap" '' 'port 0 selected SPRQ Rx function' --max-pkt-len=1518 \
  --mbuf-size=384 --total-num-pages=16384
passes redirect-cpu "$work/jumbo.pcap" '' 'port 0 selected' --max-pkt-len=9018 --forward-mode=redirect-cpu
offer=(--mprq)
passes MPRQ "$data_dir/capture.pcap" ,mprq_en=1,rxqs_min_mprq=1,mprq_log_stride_num=6,rx_vec_en=0 \
  'port 0 selected MPRQ Rx function'
passes "MPRQ vector" "$data_dir/capture.pcap" ,mprq_en=1,rxqs_min_mprq=1,mprq_log_stride_num=6 \
  'port 0 selected vectorized MPRQ Rx function'
tap_done
