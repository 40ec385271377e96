#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The example on the C API: routes what it should, and has every page back at the end.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
need_hugepages 128
program=$build_dir/docs/examples/l3fwd_pools

# run arguments...
run() {
  timeout $((60 * stretch)) "$program" "${eal[@]}" "$@" >"$work/run" 2>&1 </dev/null && return 0
  cat "$work/run"
  return 1
}
said() { grep -qE -- "$1" "$work/run" || { cat "$work/run"; return 1; }; }
frames() { python3 "$source_dir/tests/system/routed_frames.py" "$@"; }

# More frames than there are pages, so that pages come round.
frames make "$work/in.pcap" 20000
eal_arguments 128
check "two captures are routed" run \
  "--vdev=net_pcap0,rx_pcap=$work/in.pcap,tx_pcap=$work/out0.pcap" \
  "--vdev=net_pcap1,rx_pcap=$work/in.pcap,tx_pcap=$work/out1.pcap" -- --packets 40000
check "of ten frames six have a route" said '^40000 received, 24000 forwarded, 16000 dropped$'
for port in 0 1; do
  check "port $port sends what is for it, one hop older" \
    test "$(frames check "$work/out$port.pcap" $port)" = 12000
done
check "the books balance" said '^the books balance: ([0-9]+) of \1 pages are home$'

eal_arguments 128 0,1
eal[1]='(0-2)@(0-1)' eal[0]=--lcores
check "two workers on two ports" run --vdev=net_null0 --vdev=net_null1 -- --packets 1000000
check "the books balance then too" said '^the books balance: ([0-9]+) of \1 pages are home$'

eal_arguments 128
start pmd "$program" "${eal[@]}" --vdev=net_null0 --vdev=net_null1
check "it starts" expect pmd '^2 ports are routed between' 30
stop pmd INT
check "a signal ends it well" finish pmd 0 30

eal_arguments 128
wrong() { ! "$program" "${eal[@]}" --vdev=net_null0 -- --bogus >"$work/run" 2>&1; }
check "an unknown option ends it" wrong
check "with one sentence" said 'l3fwd_pools: --bogus: the one option is --packets N'
tap_done
