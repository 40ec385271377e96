#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is installed works where it is installed. It is installed to a directory, which a mount
# namespace of the test's own then shows in its final place; the machine itself stays as it is.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need_program dpdk-testpmd
need_program mandoc
need_hugepages 64
if [[ ${1:-} != mounted ]]; then
  rm -rf "$work"
  exec unshare --mount --propagation private "$0" mounted
fi

option() {
  meson introspect --buildoptions "$build_dir" |
    python3 -c "import json, sys; print(next(o['value'] for o in json.load(sys.stdin) if o['name'] == '$1'))"
}
prefix=$(option prefix)
libdir=$prefix/$(option libdir)
drivers=$(sed -n 's/^#define RTE_EAL_PMD_PATH "\(.*\)"/\1/p' /usr/include/*/dpdk/rte_build_config.h \
  /usr/include/dpdk/rte_build_config.h 2>/dev/null | head -n 1)
[[ $prefix == /usr/local ]] || skip_all "the build directory is for $prefix, not for /usr/local"

installed=$work/installed
check "meson installs" meson install -C "$build_dir" --no-rebuild --quiet --destdir "$installed"
all_there() {
  local file bad=0
  for file in "$prefix/bin/nearpmd" "$prefix/bin/connectx4" "$prefix/include/page_pool.h" \
    "$libdir/librte_mempool_page_pool.so" "$libdir/pkgconfig/page_pool.pc" \
    "$libdir/connectx4/libibverbs.so.1" "$libdir/connectx4/libmlx5.so.1" \
    "$libdir/connectx4/libconnectx4_shim.so" \
    "$prefix/share/man/man1/nearpmd.1" "$prefix/share/man/man1/connectx4.1" \
    "$prefix/share/man/man3/page_pool.3" \
    "$prefix/share/bash-completion/completions/nearpmd" \
    "$prefix/share/bash-completion/completions/connectx4" \
    "$prefix/share/nearpool/connectx4.toml" "$prefix/share/nearpool/two-node.toml" \
    "$prefix/share/nearpool/pktgen/throughput.lua" "$prefix/share/nearpool/testpmd/txonly.cmd" \
    "$prefix/lib/systemd/system/nearpmd.service"; do
    [[ -s $installed$file ]] || { echo "missing: $file" && bad=1; }
  done
  [[ -L $installed$drivers/librte_mempool_page_pool.so ]] ||
    { echo "no plugin in $drivers, where the EAL looks" && bad=1; }
  return $bad
}
check "everything is where it belongs" all_there
no_build_path() { ! grep -rlaF "$build_dir" "$installed"; }
check "nothing refers to the build directory" no_build_path

# As it will look: DPDK's drivers and ours side by side.
cp -a "$drivers" "$work/drivers"
cp -a "$installed$drivers/." "$work/drivers/"
chmod 755 "$work/drivers" "$installed$prefix"
mount --bind "$work/drivers" "$drivers" && mount --bind "$installed$prefix" "$prefix" ||
  { not_ok "the directories can be mounted"; tap_done; }
cd / || exit 1

# ended NAME CODE command...: runs it to its end, with its output in $work/run.
ended() {
  local code wanted=$1
  shift
  timeout $((60 * stretch)) "$@" >"$work/run" 2>&1 </dev/null
  code=$?
  ((code == wanted)) || { echo "exit code $code"; cat "$work/run"; return 1; }
}
said() { grep -qE -- "$1" "$work/run" || { cat "$work/run"; return 1; }; }
said_not() { ! grep -E -- "$1" "$work/run"; }

# nearpmd is linked to the library that the EAL also loads.
eal_arguments 128
check "nearpmd runs" ended 0 "$prefix/bin/nearpmd" "${eal[@]}" \
  "--vdev=net_pcap0,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" \
  "--vdev=net_pcap1,rx_pcap=$data_dir/capture.pcap,tx_pcap=/dev/null" --
check "its books balance" said '^the books balance'
check "the plugin is there once" said_not 'loaded twice'

# What the EAL loads by itself needs no -d.
run_testpmd() { # run_testpmd NAME [EAL argument...]
  local name=$1
  shift
  eal_arguments 128
  start pmd stdbuf -oL dpdk-testpmd "${eal[@]}" "$@" --mbuf-pool-ops-name=page_pool \
    --log-level=page_pool:debug --vdev=net_null0 --vdev=net_null1 -- -i --total-num-mbufs=4096
  check "$name: testpmd has it without a path" expect pmd '^testpmd> ' 60
  send pmd quit
  check "$name: it ends well" finish pmd 0 60
  cp "$(output pmd)" "$work/run"
  check "$name: its pool was ours" said 'mempool mb_pool_0 ends: '
}
run_testpmd "by itself"
cp "$libdir/librte_mempool_page_pool.so.1" "$prefix/copy.so"
run_testpmd "a copy given with -d besides" -d "$prefix/copy.so"
check "is spoken of" said 'the plugin is loaded twice; the copy loaded first serves'

# A secondary process that looks into page pools gets it by itself too.
mkdir "$work/huge" && mount -t hugetlbfs -o pagesize=2M none "$work/huge" && on_exit umount "$work/huge"
eal_arguments 128
eal=("${eal[@]/--in-memory/--huge-dir=$work/huge}")
start pmd "$prefix/bin/nearpmd" "${eal[@]}" --vdev=net_null0 --vdev=net_null1 -- -i --auto-start
send pmd 'show page_pool 0 0'
check "nearpmd runs, with room for a process beside it" expect pmd '^pool p0q0 ' 60
check "proc-info without -d" ended 0 dpdk-proc-info --no-pci "${eal[5]}" -- --show-mempool=p0q0
check "knows the pool's driver" said 'ops_name page_pool$'
send pmd quit
check "nearpmd ends well after that" finish pmd 0 30

cat >"$work/program.c" <<'END'
#include <page_pool.h>
int main(void) { return page_pool_emulate_nodes("nonsense") < 0 && page_pool_error()[0] ? 0 : 1; }
END
compile() {
  local flags
  flags=$(pkg-config --cflags --libs page_pool) || return 1
  # shellcheck disable=SC2086 # words
  cc -std=c11 -Wall -Wextra -o "$work/program" "$work/program.c" $flags "-Wl,-rpath,$libdir"
}
check "a C program is built with pkg-config page_pool" compile
check "and runs" "$work/program"
example() {
  local flags
  flags=$(pkg-config --cflags --libs page_pool libdpdk) || return 1
  # shellcheck disable=SC2086 # words
  cc -std=c11 -o "$work/l3fwd_pools" "$prefix/share/doc/nearpool/examples/l3fwd_pools.c" $flags
}
check "so is the example" example
check "pkg-config knows where drivers lie" test "$(pkg-config --variable=driverdir page_pool)" = "$drivers"

check "connectx4 finds its libraries" ended 0 "$prefix/bin/connectx4" --netns --ports 2 -- \
  dpdk-testpmd -l 0,1 -m 256 --in-memory "--file-prefix=nearpool-test-$$-cx" --huge-unlink \
  -- --auto-start --total-num-mbufs=4096 --stats-period=0 --tx-first --no-lsc-interrupt
check "testpmd has two mlx5 ports" said 'Port 1: '

unit=$prefix/lib/systemd/system/nearpmd.service
if command -v systemd-analyze >/dev/null; then
  # Of the units it belongs to it knows only those of this machine; what it says of ours counts.
  verified() { systemd-analyze verify "$unit" 2>&1 | grep -F nearpmd.service && return 1 || return 0; }
  check "systemd likes the unit" verified
else
  skip "systemd likes the unit" "there is no systemd-analyze"
fi
commands_exist() {
  local program
  for program in $(sed -nE 's/^Exec[A-Za-z]*=-?([^ ]+).*/\1/p' "$unit"); do
    [[ -x $program ]] || { echo "no $program" && return 1; }
  done
}
check "the unit's commands are there" commands_exist

for page in man1/nearpmd.1 man1/connectx4.1 man3/page_pool.3; do
  check "mandoc likes $page" mandoc -T lint -W warning "$prefix/share/man/$page"
done
names_all_options() { # names_all_options PAGE, help text on standard input
  local option bad=0
  while read -r option; do
    grep -qF -- "\\fB${option//-/\\-}\\fR" "$1" || { echo "$1 lacks $option" && bad=1; }
  done < <(grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+')
  return $bad
}
nearpmd_page() { "$prefix/bin/nearpmd" -- --help | names_all_options "$prefix/share/man/man1/nearpmd.1"; }
connectx4_page() { "$prefix/bin/connectx4" --help | names_all_options "$prefix/share/man/man1/connectx4.1"; }
check "nearpmd(1) names each option" nearpmd_page
check "connectx4(1) names each option" connectx4_page
names_all_functions() {
  local function bad=0
  for function in $(grep -oE '\bpage_(pool|arena)_[a-z_]+\(' "$prefix/include/page_pool.h" | tr -d '(' | sort -u); do
    grep -q "^.BR $function ()" "$prefix/share/man/man3/page_pool.3" || { echo "lacks $function" && bad=1; }
  done
  return $bad
}
check "page_pool(3) names each function" names_all_functions

# completes NAME WORD EXPECTED... words of the command line; the last one is being typed.
completes() {
  local expected=$1
  shift
  (
    # shellcheck source=/dev/null
    . "$prefix/share/bash-completion/completions/$(basename "$1")"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    "_$(basename "$1")" 2>/dev/null
    [[ " ${COMPREPLY[*]} " == *" $expected "* ]] || { echo "has only: ${COMPREPLY[*]}" && exit 1; }
  )
}
pmd=$prefix/bin/nearpmd
check "completion: EAL options of nearpmd" completes --in-memory "$pmd" --in
check "completion: its own options behind --" completes --forward-mode= "$pmd" -l 0,1 -- --forw
check "completion: the last of them" completes --rebalance-gain= "$pmd" -- --rebalance-g
check "completion: a flag" completes --hardened "$pmd" -- --hard
check "completion: values" completes redirect-cpu "$pmd" -- --forward-mode = red
check "completion: connectx4" completes --lossless "$prefix/bin/connectx4" --loss
check "completion: its wires" completes 'shm:' "$prefix/bin/connectx4" --wire s
tap_done
