#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The doctor on this machine: it starts nothing, names what is in the way, and its exit code says
# whether there is something. What it makes of other machines the unit tests show.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"

# visit CODE arguments...
visit() {
  local code wanted=$1
  shift
  "$nearpmd" --doctor "$@" >"$work/run" 2>&1 </dev/null
  code=$?
  ((code == wanted)) || { echo "exit code $code"; cat "$work/run"; return 1; }
}

need_hugepages 128
check "a machine that can" visit 0 -l 0,1 --no-pci --in-memory
for topic in hugepages 'main lcore' memlock 'NUMA balancing' 'isolated CPUs' 'CPU governor' IOMMU MBUF_FAST_FREE plugin; do
  check "it looks at $topic" said "^\[[a-z]+\] +$topic: "
done
check "it starts nothing" eval '! said "EAL:"'
check "and sums up" said '^[0-9]+ well, [0-9]+ with advice, [0-9]+ not to be seen, 0 that stop nearpmd$'

check "more pages than there are" visit 3 -l 0,1 --no-pci --in-memory -- --total-num-pages=100000000
check "what to do about it" said '-> echo [0-9]+ >/sys/.*/nr_hugepages$'
check "a NIC that is not there" visit 3 -l 0,1 --in-memory -a 0000:ff:1f.7
check "is named" said '^\[STOPS\] +.*0000:ff:1f.7: there is no such device'
check "a main lcore alone" visit 3 -l 0 --no-pci --in-memory
check "is refused" said 'no lcore is left to forward'

mkdir -p "$work/open"
chmod 777 "$work/open"
cp "$build_dir/drivers/mempool/page_pool/librte_mempool_page_pool.so.1" "$work/open/plugin.so"
check "a plugin in a directory for everybody" visit 3 -l 0,1 --no-pci --in-memory -d "$work/open/plugin.so"
check "is named with what to do" said "everybody may write to .*/open"
check "arguments that make no sense" visit 1 -l none
check "are one sentence" said "^nearpmd: --doctor: 'none' names no lcores"
tap_done
