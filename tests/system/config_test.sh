#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each file below config is loaded by the program it is for: nearpmd on software ConnectX-4 ports and
# on emulated nodes, testpmd, and a Lua interpreter with a stand-in for Pktgen.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_root
need_program dpdk-testpmd
need_program lua5.3
need_hugepages 128
config=$source_dir/config
connectx4=$build_dir/drivers/connectx4/launcher/connectx4

# Options that a file names and nearpmd does not know would be errors.
eal_arguments 256
start pmd "$connectx4" --netns --ports 2 -- stdbuf -oL "$nearpmd" -l 0,1 -m 256 --in-memory \
  "${eal[5]}" -- --config="$config/connectx4.toml" -i
check "connectx4.toml: two mlx5 ports" ask 'show port summary all' '^1 .*mlx5'
check "connectx4.toml: is what is in force" ask 'show config' '^rxd = 1024 \(file .*connectx4.toml\)'
send pmd start
check "connectx4.toml: forwards" ask 'show config rxtx' 'forwarding runs$'
check "connectx4.toml: ends well" done_well

begin "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- --config="$config/two-node.toml" \
  --numa-map=1:0,2:1 -i
check "two-node.toml: is what is in force" ask 'show config' '^rebalance = true \(file .*two-node.toml\)'
check "two-node.toml: two nodes" ask 'show numa' 'lcore 2.*node 1'
check "two-node.toml: ends well" done_well

for file in "$config"/testpmd/*.cmd; do
  name=$(basename "$file")
  eal_arguments 128
  start pmd stdbuf -oL dpdk-testpmd "${eal[@]}" --vdev=net_null0 --vdev=net_null1 -- -i \
    --total-num-mbufs=4096 "--cmdline-file=$file"
  check "$name: testpmd takes it" expect pmd "^Read CLI commands from .*$name" 60
  send pmd 'show config fwd'
  check "$name: sets the mode" expect pmd "^$(sed -n 's/^set fwd //p' "$file") packet forwarding" 20
  send pmd quit
  check "$name: ends well" finish pmd 0 30
  understood() { ! grep -E 'Bad arguments|Command not found|Ambiguous' "$(output pmd)"; }
  check "$name: each line is a command" understood
done

lua() { lua5.3 "$source_dir/tests/system/pktgen_stub.lua" "$@" >"$work/run" 2>&1 || { cat "$work/run"; return 1; }; }
export NEARPOOL_PKTGEN=$config/pktgen SECONDS_PER_TRIAL=1 RESULT=$work/result
check "throughput.lua runs" lua "$config/pktgen/throughput.lua" 37.3
found_rates() {
  # 64 bytes at 100 Gb/s are 148.8 Mpps; of these the highest share within half a percent of 37.3.
  awk '{ if ($2 > 37.3 || $2 < 36.8) exit 1 } $1 == 64 && ($3 < 54e6 || $3 > 56e6) { exit 1 }
       END { if (NR != 7) exit 1 }' "$RESULT" || { cat "$RESULT"; return 1; }
}
check "throughput.lua finds the rate without loss of each size" found_rates
check "throughput.lua at line rate" lua "$config/pktgen/throughput.lua" 100
check "one trial is enough there" eval 'said "^called start 7$" && grep -q "^1518 100.00" "$RESULT"'
check "throughput.lua where everything is lost" lua "$config/pktgen/throughput.lua" 0
check "the rate is 0" grep -q '^64 0.00 0$' "$RESULT"
check "load.lua runs" lua "$config/pktgen/load.lua" 100
check "load.lua starts" said '^called start 1$'
tap_done
