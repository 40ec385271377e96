#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What cannot be is refused with one sentence, exit code 1, and everything given back.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
free_pages() { cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages; }

# refused NAME REGEX LCORES arguments...
refused() {
  local name=$1 regex=$2
  shift 2
  run "$@"
  check "$name" said "^nearpmd: .*$regex"
  check "$name: exit code" ended 1
}
two=0@0,1@1
null=(--vdev=net_null0 --vdev=net_null1 --)
refused "an unknown option" '--bogus' "$two" "${null[@]}" --bogus
refused "a value out of range" '--burst: Value 0 not in range 1 to 512' "$two" "${null[@]}" --burst=0
refused "an unknown ops name" 'ops nonsense' "$two" "${null[@]}" --pool-ops=nonsense
refused "more queues than there are" '--rxq 2: port 0 .* at most 1 RX queues' "$two" \
  --vdev="net_pcap0,rx_pcap=$data_dir/empty.pcap,tx_pcap=/dev/null" -- --rxq=2
refused "more TX queues than there are" '--txq 3: port 0 .* has at most 1 TX queues' "$two" \
  --vdev="net_pcap0,rx_pcap=$data_dir/empty.pcap,tx_pcap=/dev/null" -- --txq=3
refused "a main lcore alone" 'only the main lcore.*-l 0,1' 0@0 "${null[@]}"
refused "the main lcore as a forwarding one" '--corelist 0: lcore 0 is the main lcore' "$two" "${null[@]}" --corelist=0
refused "a lcore there is not" '--corelist 7: lcore 7 is not one' "$two" "${null[@]}" --corelist=7
refused "more lcores than there are" '--nb-cores 5' "$two" "${null[@]}" --nb-cores=5
refused "a port there is not" '--portlist 4: there is no port 4; ports are 0,1' "$two" "${null[@]}" --portlist=4
refused "no port" 'no port was found.*--vdev' "$two" --
refused "a device that is not there" 'the EAL does not start|no port was found' "$two" --vdev=net_pcap0,rx_pcap=/nonexistent,tx_pcap=/dev/null --
refused "a PCI device that is not there" 'device 0000:99:00.0 was asked for \(-a\) and not probed: .*rdma-core' \
  "$two" -a 0000:99:00.0 "${null[@]}"
refused "an arena that does not fit" 'page arena cannot be created: .*[0-9]' "$two" "${null[@]}" --total-num-pages=50000000
refused "fewer pages than a burst" '--total-num-pages 8 is less than one burst of 32' "$two" "${null[@]}" --total-num-pages=8
refused "a topology that is none" '--numa-map' "$two" "${null[@]}" --numa-map=1-0
refused "an option's value that is no number" '--rxd' "$two" "${null[@]}" --rxd=many
refused "a word too many" 'stray' "$two" "${null[@]}" stray
refused "an option without its value" '--burst' "$two" "${null[@]}" --burst
refused "both ways to name lcores" 'coremask' "$two" "${null[@]}" --corelist=1 --coremask=2
refused "an auto-start without a prompt" '--auto-start needs -i' "$two" "${null[@]}" --auto-start
refused "an exception port without pass" '--pass-map needs --forward-mode=pass' "$two" "${null[@]}" --pass-map=0:1
refused "pools' options on a stock mempool" '--pool-ops ring_mp_mc is a stock mempool' "$two" "${null[@]}" \
  --pool-ops=ring_mp_mc --hardened
refused "a peer for a port there is not" '--eth-peer 7: there is no port 7; ports are 0,1' "$two" "${null[@]}" \
  --eth-peer=7,02:00:00:00:00:09
refused "a peer of frames that go nowhere" '--eth-peer needs --forward-mode=redirect or redirect-cpu' "$two" "${null[@]}" \
  --forward-mode=drop --eth-peer=0,02:00:00:00:00:09
refused "an exception port there is not" '--pass-map 5: there is no port 5' "$two" "${null[@]}" --forward-mode=pass \
  --pass-map=0:5
refused "a first burst that nothing sends" '--tx-first needs --auto-start' "$two" "${null[@]}" -i --tx-first
refused "an end of a prompt by itself" '--exit-when-idle does not go with -i' "$two" "${null[@]}" -i --exit-when-idle
refused "a dry run of nothing" '--rebalance-dry-run needs --rebalance' "$two" "${null[@]}" --rebalance-dry-run
refused "a word that the EAL does not know" "'stray' before -- is no option of the EAL" "$two" stray "${null[@]}"
refused "a node for a port there is not" '--port-numa-config 7: there is no port 7' "$two" "${null[@]}" --port-numa-config=7:0
refused "frames shorter than a port takes" '--max-pkt-len 10: port 0 .* takes 64 to' "$two" \
  --vdev="net_pcap0,rx_pcap=$data_dir/empty.pcap,tx_pcap=/dev/null" -- --max-pkt-len=10
refused "no file of commands" "file '/nonexistent' with commands cannot be read" "$two" "${null[@]}" --cmdline-file=/nonexistent
refused "no file of options" '/nonexistent' "$two" "${null[@]}" --config=/nonexistent
# What is no capture file is an error of the start, whatever it is.
mkfifo "$work/fifo"
exec {writer}<>"$work/fifo" # whoever opens it to read waits for a writer
printf 'no capture, but long enough for its header' >&"$writer"
for file in "$work" "$data_dir/README.md" "$work/nothing" "$work/fifo"; do
  refused "no capture: $file" 'the EAL does not start|no port was found|does not start|refuses' "$two" \
    --vdev="net_pcap0,rx_pcap=$file,tx_pcap=/dev/null" --
done
refused "a file that is no configuration" 'bust' "$two" "${null[@]}" --config=<(echo 'bust = 1')

before=$(free_pages)
run "$two" "${null[@]}" --total-num-pages=50000000
given_back() { (($(free_pages) >= before)); }
check "hugepages are given back" wait_for 5 given_back

# A second program with the same prefix is told how both can run.
nearpmd_command "$two" "${null[@]}" -i --arena-no-huge
eal_only=("${command[@]/--in-memory/--no-huge}")
start pmd "${eal_only[@]}"
check "the first one runs" ask 'show numa' '^lcore 0'
timeout 30 "${eal_only[@]}" >"$work/run" 2>&1 </dev/null
code=$?
check "the second one is told of --file-prefix" said 'the EAL does not start.*--file-prefix'
check "and ends" ended 1
check "the first one is none the worse" done_well
tap_done
