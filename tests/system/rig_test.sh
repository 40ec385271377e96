#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The rig itself: lib.sh, and net_pcap under a testpmd without anything of ours. What is red here is
# not the fault of nearpool.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

fails() { ! "$@"; }
says() {
  "${@:2}" >"$work/said" 2>&1
  grep -q -- "$1" "$work/said"
}

echo_twice='while read -r text; do echo "got $text"; echo "got $text again"; done; exit 7'
start peer bash -c "$echo_twice"
send peer one
check "expect finds a line" expect peer '^got one$' 5
check "and goes on behind it" expect peer '^got one again$' 5
check "a line is found once only" fails expect peer 'one' 0
start other sleep 60
send_end peer
check "finish waits for the end and the exit code" finish peer 7 5
check "finish tells what runs for too long" says 'still runs' finish other 0 0
stop other TERM
check "finish tells a wrong exit code" says 'exit code 143, not 0' finish other 0 5
start last bash -c 'echo end'
wait_for 5 is_over last
check "the last words of a program are heard" expect last '^end$' 1
check "wait_for gives up" fails wait_for 0 false

check "a directory open to all is not private" fails _is_private /tmp
check "/run is private" _is_private /run

for name in capture odd_sizes truncated; do
  eal_arguments 128
  start pmd dpdk-testpmd "${eal[@]}" "--vdev=net_pcap0,rx_pcap=$data_dir/$name.pcap,tx_pcap=$work/$name.out" \
    -- --interactive --no-flush-rx --total-num-mbufs=4096 --forward-mode=io
  check "$name: testpmd is ready" expect pmd '^testpmd> ' 30
  send pmd start
  received_all() {
    send pmd 'show fwd stats all'
    compare_captures --allow-truncated-input "$data_dir/$name.pcap" "$work/$name.out"
  }
  check "$name: comes out as it went in" wait_for 10 received_all
  send pmd quit
  check "$name: testpmd ends" finish pmd 0 10
done

if [[ $(id -u) -ne 0 ]]; then
  skip "a namespace with a pair of interfaces" "needs root"
else
  new_namespace
  check "a namespace with a pair of interfaces" veth_pair "$namespace" left right
  check "both are there" inside "$namespace" ip link show right
fi
tap_done
