#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Topologies that a machine may show: CPUs of no node, nodes 0 and 8, a node without memory, no
# nodes at all. A made-up /sys/devices/system/node stands in for them, so there is nothing to be
# said about where memory lies; but every port has to be polled, and every page to come home.
# shellcheck disable=SC2317 # functions that are handed over by name
# shellcheck source=tests/system/nearpmd.sh
. "$(dirname "$0")/nearpmd.sh"
need_root
[[ -e /sys/devices/system/node/node0/cpu1 && ! -e /sys/devices/system/node/node1 ]] ||
  skip_all "needs one node with two CPUs or more"

# second_node ID: CPU 1 and no memory are on that node.
second_node() {
  mkdir "$nodes/node$1"
  cp -r "$nodes"/node0/{cpulist,cpumap,distance,meminfo,hugepages} "$nodes/node$1/"
  ln -s ../../cpu/cpu1 "$nodes/node$1/cpu1"
  sed -i "s/Node 0/Node $1/; s/: .* kB/: 0 kB/" "$nodes/node$1/meminfo"
  echo "10 21" >"$nodes/node0/distance"
  echo "21 10" >"$nodes/node$1/distance"
  echo 1 >"$nodes/node$1/cpulist"
  echo 2 >"$nodes/node$1/cpumap"
  echo "0,$1" >"$nodes/online"
  echo "0,$1" >"$nodes/has_cpu"
  echo "0-$1" >"$nodes/possible"
}
without_cpu1() {
  rm "$nodes/node0/cpu1"
  echo 0 >"$nodes/node0/cpulist"
  echo 1 >"$nodes/node0/cpumap"
}

# topology NAME SETUP EAL... : nearpmd with that topology forwards, and its books balance.
topology() {
  local name=$1 setup=$2
  nodes=$work/nodes
  rm -rf "$nodes"
  mkdir "$nodes"
  cp -r --no-dereference /sys/devices/system/node/. "$nodes" 2>/dev/null
  chmod -R u+w "$nodes"
  $setup
  nearpmd_command "$three_lcores" --vdev=net_null0 --vdev=net_null1 -- -i --hardened
  # The EAL asks for hugepages on each node that it sees, and there are none on one made up.
  [[ $3 == huge ]] || command=("${command[@]/--in-memory/--no-huge}")
  # shellcheck disable=SC2016 # expanded by the inner shell
  start pmd unshare -m bash -c 'mount --bind "$0" /sys/devices/system/node && exec "$@"' "$nodes" "${command[@]}"
  check "$name: it starts" ask start '^nearpmd> start'
  for port in 0 1; do
    check "$name: port $port is polled" ask_until 30 'show fwd stats all' "^port $port .*: received [1-9]"
  done
  check "$name: lcores are on a node with memory" ask 'show numa' '^lcore 2: node 0'
  check "$name: the books balance" done_well
}
orphan() { without_cpu1; }
no_nodes() { rm -rf "$nodes/node0"; }
node_1_without_memory() { without_cpu1 && second_node 1; }
nodes_0_and_8() { without_cpu1 && second_node 8; }
nodes_0_and_3() { without_cpu1 && second_node 3; }
# All CPUs on node 1, all memory on node 0.
cpus_elsewhere() {
  without_cpu1 && second_node 1
  rm "$nodes/node0/cpu0"
  ln -s ../../cpu/cpu0 "$nodes/node1/cpu0"
  echo >"$nodes/node0/cpulist"
  echo 0 >"$nodes/node0/cpumap"
  echo 0-1 >"$nodes/node1/cpulist"
  echo 3 >"$nodes/node1/cpumap"
  echo 1 >"$nodes/has_cpu"
}
topology "a CPU of no node" orphan huge
topology "no node at all" no_nodes huge
topology "a node without memory" node_1_without_memory no-huge
topology "nodes 0 and 8" nodes_0_and_8 no-huge
topology "nodes 0 and 3" nodes_0_and_3 no-huge
topology "all CPUs on a node without memory" cpus_elsewhere no-huge
tap_done
