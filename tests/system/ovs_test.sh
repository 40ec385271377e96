#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's Open vSwitch with DPDK on the plugin: two dpdk ports, frames through a bridge, and every
# page back when the ports go. It runs in a network namespace, with a database, sockets and logs of
# its own; the system's Open vSwitch is neither asked nor seen.
# shellcheck disable=SC2317 # functions that check and wait_for call
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
vswitchd=/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk
schema=/usr/share/openvswitch/vswitch.ovsschema
need_root
need_hugepages 144
for program in "$vswitchd" ovsdb-server ovsdb-tool ovs-vsctl ovs-ofctl ovs-appctl; do
  need_program "$program"
done
[[ $sanitize == none ]] || skip_all "a program without a sanitizer cannot load a plugin with it"
plugin_path || skip_all "no place for the plugin"
new_namespace || skip_all "no network namespaces"

export OVS_RUNDIR=$work OVS_LOGDIR=$work OVS_DBDIR=$work OVS_SYSCONFDIR=$work
database=unix:$work/db.sock
vsctl() { ovs-vsctl "--db=$database" --timeout=60 "$@"; }
eal_arguments 256
prefix=$(printf '%s\n' "${eal[@]}" | sed -n 's/^--file-prefix=//p')

ovsdb-tool create "$work/conf.db" "$schema" || skip_all "ovsdb-tool makes no database"
start db ip netns exec "$namespace" ovsdb-server "$work/conf.db" "--remote=punix:$work/db.sock" \
  "--unixctl=$work/db.ctl"
check "a database of its own" wait_for 20 test -S "$work/db.sock" || { say "$(cat "$(output db)")"; tap_done; }
extra="--no-pci --in-memory --file-prefix=$prefix -d $plugin --mbuf-pool-ops-name=page_pool"
configure() {
  vsctl --no-wait init && vsctl --no-wait set Open_vSwitch . other_config:dpdk-init=true \
    other_config:per-port-memory=true other_config:dpdk-socket-mem=256 \
    other_config:dpdk-socket-limit=256 other_config:dpdk-lcore-mask=0x1 \
    other_config:pmd-cpu-mask=0x2 "other_config:dpdk-extra=\"$extra\""
}
check "dpdk-extra names the plugin" configure
start switch ip netns exec "$namespace" "$vswitchd" "$database" "--unixctl=$work/switch.ctl" \
  "--pidfile=$work/switch.pid"
check "the switch has DPDK" expect switch 'DPDK Enabled - initialized' 60

ports() {
  vsctl add-br br0 -- set bridge br0 datapath_type=netdev &&
    vsctl add-port br0 in0 -- set interface in0 type=dpdk \
      "options:dpdk-devargs=\"net_pcap0,rx_pcap=$data_dir/capture.pcap,infinite_rx=1\"" &&
    vsctl add-port br0 out0 -- set interface out0 type=dpdk \
      "options:dpdk-devargs=\"net_pcap1,tx_pcap=$work/out.pcap\""
}
check "a bridge with two dpdk ports" ports
working() {
  local error
  error=$(vsctl get interface in0 error)$(vsctl get interface out0 error)
  echo "$error"
  [[ $error == '[][]' ]]
}
check "the ports work" working

# The pools, as the plugin's telemetry sees them.
telemetry() {
  python3 "$source_dir/tests/system/telemetry.py" "/var/run/dpdk/$prefix/dpdk_telemetry.v2" "$@"
}
# pools EXPRESSION: a Python expression over the statistics of all pools, called a.
pools() {
  local ids commands
  mapfile -t ids < <(telemetry /page_pool/list | grep -oE '[0-9]+')
  commands=("${ids[@]/#//page_pool/stats,}")
  telemetry "${commands[@]}" >"$work/pools" && cat "$work/pools"
  python3 -c 'import json, sys; a = [json.loads(line) for line in open(sys.argv[1])]; sys.exit(not eval(sys.argv[2]))' \
    "$work/pools" "$1"
}
check "the ports' buffers come from page pools" pools \
  'len(a) >= 1 and all(p["name"].startswith("ovs") for p in a)'
check "which are in use" pools 'sum(p["inflight"] for p in a) > 0'

forward() {
  ovs-ofctl del-flows "unix:$work/br0.mgmt" &&
    ovs-ofctl add-flow "unix:$work/br0.mgmt" in_port=in0,actions=output:out0
}
check "a flow from one to the other" forward
sent() {
  local count
  count=$(vsctl get interface out0 statistics:tx_packets)
  echo "$count sent"
  ((count > 1000))
}
check "frames go through the bridge" wait_for 30 sent
check "the flow ends" ovs-ofctl del-flows "unix:$work/br0.mgmt"
remove() { vsctl del-port br0 in0 && vsctl del-port br0 out0; }
check "the ports are removed" remove
check "every page is back" wait_for 20 pools 'all(p["inflight"] == 0 for p in a)'
only_sent() {
  python3 - "$work/out.pcap" "$data_dir/capture.pcap" <<'PYTHON'
import os
import sys
sys.path.insert(0, os.environ["NEARPOOL_SOURCE"] + "/tests/system")
import pcap_compare
got, sent = (pcap_compare.read_capture(path, True) for path in sys.argv[1:])
known = set(sent)
strange = [frame for frame in got if frame not in known]
print(f"{len(got)} frames came out, {len(strange)} of them never went in")
sys.exit(len(got) < 1000 or bool(strange))
PYTHON
}
check "what came out went in, byte for byte" only_sent
check "the bridge is removed" vsctl del-br br0
check "the switch is asked to end" ovs-appctl -t "$work/switch.ctl" exit --cleanup
check "it ends well" finish switch 0 30
quiet() { ! grep -E 'page_pool.*(ERR|returned twice|not taken in)|EMER|emer' "$(output switch)"; }
check "nothing was misused" quiet
tap_done
