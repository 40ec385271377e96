#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each option of the command line: it arrives, show config says so and where it came from, and it
# has an effect. nearpmd_coverage_test.py sees to it that none is missing.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# shown NAME VALUE [ORIGIN]
shown() {
  send pmd 'show config'
  expect pmd "^$1 = $2 \\(${3:-command line}\\)\$" 10
}
# shows NAME VALUE... : each pair, from the command line.
shows() {
  while (($# > 0)); do
    check "--$1 is in show config" shown "$1" "$2"
    shift 2
  done
}

begin "$three_lcores" "${pair[@]}" -- -i --rxq=2 --txq=1 --rxd=512 --txd=256 --burst=16 --nb-cores=1 \
  --corelist=2,1 --portlist=0,1 --forward-mode=tx --touch=read-data --port-topology=loop \
  --promiscuous-mode=off --no-flush-rx --total-num-pages=8192 --mbuf-size=2304 --hardened \
  --arena-min=10 --arena-low=20 --arena-high=30 --arena-lenient --pool-ring=4096 --pool-cache=64 \
  --pool-quota=3000 --pool-bulk=16 --rx-watchdog=7 --numa-map=1:0,2:1
shows rxq 2 txq 1 rxd 512 txd 256 burst 16 nb-cores 1 corelist 2 portlist 0,1 forward-mode tx \
  touch read-data port-topology loop promiscuous-mode off no-flush-rx true mbuf-size 2304 \
  hardened true arena-min 10 arena-low 20 arena-high 30 arena-lenient true pool-ring 4096 \
  pool-cache 64 pool-quota 3000 pool-bulk 16 rx-watchdog 7 numa-map 1:0,2:1 interactive true
check "--total-num-pages is in show config" shown total-num-pages 8192
check "a default is called so" shown max-pkt-len 0 default
check "queues, descriptors, bursts" ask 'show config rxtx' 'forward mode tx, touch level read-data, burst 16'
check "of each port" expect pmd '^port 0: 2 RX queues of 512 descriptors, 1 TX queues of 256' 5
check "the first of the list" ask 'show config cores' '^forwarding lcores: 2$'
check "the topology loop" ask 'show config fwd' '^tx, loop topology'
check "watermarks" ask 'show page_arena' 'watermarks min 10 low 20 high 30'
check "the pool's sizes" ask 'show page_pool 0 0' 'quota 3000$'
check "and those of cache, ring, bulk" expect pmd '^  cache 64, ring [0-9]+, bulk 16' 5
check "start" ask "$start_text" '^nearpmd> start'
if [[ $port_driver == mlx5_pci ]]; then
  # Those first frames were for nobody's address.
  check "not promiscuous: the device keeps them out" ask_until 20 'show fwd stats all' 'device: rx 0, .* tx [1-9]'
  check "stop" ask stop '^port 1'
  check "promiscuous" ask 'set promisc all on' '^nearpmd> set'
  check "start again" ask "$start_text" '^nearpmd> start'
fi
check "tx: each port for itself" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9][0-9]* = forwarded [1-9]'
check "the books balance" done_well

# Ordinary pages have no lasting physical address, which a device would need where those are IOVAs.
begin "$three_lcores" "${pair[@]}" --iova-mode=va -- -i --auto-start --tx-first --stats-period=1 --coremask=0x4 --portmask=3 \
  --no-node-follow --no-foreign-reject --no-pressure-reject --no-bulk-return --arena-no-huge \
  --max-pkt-len=1400 --port-topology=chained --eth-peer=1,02:00:00:00:00:09 --total-num-mbufs=16384
check "--tx-first sends first" expect pmd '^port 1: 32 frames sent first' 20
check "--stats-period prints" expect pmd '^port 0 .*: received [1-9]' 20
shows auto-start true tx-first true stats-period 1 coremask 0x4 portmask 3 no-node-follow true \
  no-foreign-reject true no-pressure-reject true no-bulk-return true arena-no-huge true \
  max-pkt-len 1400 port-topology chained eth-peer 1,02:00:00:00:00:09
check "--total-num-mbufs is --total-num-pages" shown total-num-pages 16384
check "--coremask chooses lcore 2" ask 'show config cores' '^forwarding lcores: 2$'
check "--auto-start forwards" ask 'show config rxtx' 'forwarding runs'
check "single returns" ask_until 20 'show page_pool 0 0' 'bulk calls'
check "the books balance with everything off" done_well

# What waited in a queue before a start is thrown away, and counted.
begin "$three_lcores" "${pair[@]}" -- -i
check "start" ask "$start_text" '^nearpmd> start'
check "frames go round" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "stop leaves some of them in the queues" ask stop '^port 1'
check "start again" ask start '^nearpmd> start'
check "a start flushes, and says how many" ask 'show fwd stats all' '^  flushed at start: [1-9]'
check "the books balance after flushing" done_well

# A port on a node without a lcore is polled, with one warning per port.
begin 0@0,1@1 "${pair[@]}" -- -i --numa-map=1:1 --port-numa-config=0:0,1:1 --rxq=2
shows port-numa-config 0:0,1:1
check "a port far from all lcores is warned of" ask "$start_text" 'warning: port 0 is on node 0, which has no forwarding lcore'
check "it is polled all the same" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "once, and only that port" test "$(grep -c 'no forwarding lcore' "$(output pmd)")" -eq 1
check "the books balance across nodes" done_well

run "$three_lcores" --vdev="net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=$work/out" --vdev=net_null0 -- \
  --portlist=0 --exit-when-idle --eth-peer=0,02:00:00:00:00:09 --port-topology=loop
check "--exit-when-idle ends, --portlist leaves the other port alone" said '^port 1 .*: received 0 '
check "the books balance when idle" ended 0

# The same program on a stock mempool.
begin "$three_lcores" "${pair[@]}" -- -i --pool-ops=ring_mp_mc
shows pool-ops ring_mp_mc
check "a stock mempool is called so" ask 'show page_pool 0 0' '^stock mempool p0q0: [0-9]+ buffers'
check "it has no arena" ask 'show page_arena' 'stock mempools \(ring_mp_mc\): there is no page arena'
check "it has no quota" ask 'set page_pool 0 0 quota 5' 'there is no page arena'
check "it follows nobody" ask 'set node-follow off' 'there is no page arena'
check "start" ask "$start_text" '^nearpmd> start'
check "frames pass" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "its books balance" done_well 1

# A file holds any of them; the command line comes before it.
cat >"$work/config.toml" <<'TOML'
burst = 8
rxd = 256
hardened = true
rebalance = true
rebalance-dry-run = true
rebalance-period = 9
rebalance-threshold = 70
rebalance-gain = 20
interactive = true
pass-map = "0:1"
eal = ["--vdev=net_null6"]
TOML
begin "$three_lcores" "${pair[@]}" -- --config="$work/config.toml" --rxd=128
for option in 'burst 8' 'hardened true' 'rebalance true' 'rebalance-dry-run true' 'rebalance-period 9' \
  'rebalance-threshold 70' 'rebalance-gain 20' 'pass-map 0:1' 'interactive true'; do
  check "--config: $option" shown "${option% *}" "${option#* }" "file $work/config.toml"
done
check "--config: eal" shown eal --vdev=net_null6 "file $work/config.toml"
check "the EAL has been told" ask 'show port summary' '^[0-2] .*net_null6'
check "the command line before the file" shown rxd 128
check "the books balance with a file" done_well
printf 'show numa\nquit\n' >"$work/commands"
begin "$three_lcores" "${pair[@]}" -- -i --cmdline-file="$work/commands"
check "--cmdline-file runs" expect pmd '^lcore 0: node' 20
check "and may quit" finish pmd 0 30

run 0@0,1@1 -- --help
check "--help" said '--rebalance-threshold'
check "--help: exit code" ended 0

# Without hugepages the EAL's own option is enough.
nearpmd_command "$three_lcores" "${pair[@]}" -- -i
command=("${command[@]/--in-memory/--no-huge}")
start pmd "${command[@]}"
check "--no-huge is the arena's as well" shown arena-no-huge true default
check "start without hugepages" ask "$start_text" '^nearpmd> start'
check "frames pass without hugepages" ask_until 20 'show fwd stats all' '^port 0 .*: received [1-9]'
check "the books balance without hugepages" done_well
tap_done
