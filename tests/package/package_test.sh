#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian package builds from the tree, and installs and runs in a clean chroot of Debian 12 with
# nothing but what it depends on.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/../system/lib.sh"
need_root
need_program dpkg-buildpackage
need_program dh
need_program mmdebstrap
need_hugepages 128

# A copy of what belongs to the tree, so that build directories stay out of it.
mkdir "$work/tree"
copy() {
  (cd "$source_dir" && find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -print0 |
    xargs -0 cp -a -t "$work/tree")
}
check "the tree is copied" copy
build() {
  cd "$work/tree" && env -u NEARPOOL_BUILD -u MAKEFLAGS -u DESTDIR DEB_BUILD_OPTIONS=parallel=2 \
    timeout 900 dpkg-buildpackage -us -uc -b
}
check "dpkg-buildpackage builds it" build || tap_done
cd / || exit 1
for package in nearpool nearpool-dev; do
  check "$package is there" compgen -G "$work/${package}_*_amd64.deb"
done
no_build_path() {
  dpkg-deb -x "$work"/nearpool_*_amd64.deb "$work/x" && ! grep -rlaF "$work/tree" "$work/x"
}
check "nothing in it refers to where it was built" no_build_path
plugin_where_the_eal_looks() { [[ -L $(compgen -G "$work/x/usr/lib/*/dpdk/pmds-*/librte_mempool_page_pool.so") ]]; }
check "the plugin is where the EAL looks" plugin_where_the_eal_looks
no_private_library() { ! dpkg-deb -I "$work"/nearpool_*_amd64.deb shlibs | grep -E 'libibverbs|libmlx5'; }
check "nobody is told to link to connectx4's libraries" no_private_library

# A chroot from the servers that this machine itself takes its packages from.
root=$work/root
debian_sources() {
  python3 - <<'END'
import glob, re
for path in sorted(glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/*")):
    text = open(path, encoding="utf-8").read()
    if path.endswith(".list"):
        for line in text.splitlines():
            found = re.match(r"deb\s+(?:\[.*?\]\s+)?(\S+)\s+(bookworm\S*)\s", line)
            if found:
                print("deb", found[1], found[2], "main")
    elif path.endswith(".sources"):
        for part in re.split(r"\n\s*\n", text):
            field = dict(re.findall(r"^(\w+):[ \t]*(.*)$", part, re.M))
            for uri in field.get("URIs", "").split():
                for suite in field.get("Suites", "").split():
                    if suite.startswith("bookworm") and "main" in field.get("Components", "").split():
                        print("deb", uri, suite, "main")
END
}
make_root() {
  debian_sources >"$work/sources"
  grep -q . "$work/sources" || { echo "no source of bookworm below /etc/apt" && return 1; }
  apt-config dump Acquire | grep -E '^Acquire::https?::' >"$work/acquire"
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg
  timeout 600 mmdebstrap "--keyring=$keys" --variant=minbase --mode=root "--aptopt=$work/acquire" \
    "--include=librte-net-null23,librte-net-pcap23,librte-net-mlx5-23,ibverbs-providers" \
    "--customize-hook=copy-in $work/debs /" \
    '--customize-hook=chroot "$1" sh -c "apt-get install -y --no-install-recommends /debs/nearpool_*.deb"' \
    bookworm "$root" "$work/sources"
}
mkdir "$work/debs"
cp "$work"/nearpool_*_amd64.deb "$work/debs/"
check "it installs in a clean chroot" make_root || tap_done
no_build_tools() { ! chroot "$root" sh -c 'command -v gcc || command -v meson'; }
check "a clean one" no_build_tools

cp "$data_dir/capture.pcap" "$root/tmp/"
# enter command...: in the chroot, with what the kernel shows mounted for this command alone.
enter() {
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --propagation private sh -c '
    for directory in proc sys dev; do mount --rbind "/$directory" "$0/$directory" || exit 120; done
    exec chroot "$0" "$@"' "$root" "$@"
}

# in_root CODE REGEX command...
in_root() {
  local code wanted=$1 regex=$2
  shift 2
  enter timeout $((60 * stretch)) "$@" >"$work/run" 2>&1 </dev/null
  code=$?
  ((code == wanted)) && grep -qE -- "$regex" "$work/run" && return 0
  echo "exit code $code"
  cat "$work/run"
  return 1
}
eal_arguments 128
check "nearpmd forwards and its books balance" in_root 0 '^the books balance' nearpmd "${eal[@]}" \
  --vdev=net_pcap0,rx_pcap=/tmp/capture.pcap,tx_pcap=/tmp/out0.pcap \
  --vdev=net_pcap1,rx_pcap=/tmp/capture.pcap,tx_pcap=/tmp/out1.pcap --
check "the doctor finds the plugin" in_root 0 '^\[ok\] +plugin: .* can be loaded' \
  nearpmd --doctor -l 0,1 --no-pci --in-memory
check "connectx4 runs it on mlx5 ports" in_root 0 'mlx5' sh -c \
  "printf '%s\n' start 'show port summary all' stop quit |
   connectx4 --netns --ports 2 -- nearpmd -l 0,1 -m 128 --in-memory ${eal[5]} -- -i"
for file in /lib/systemd/system/nearpmd.service /usr/share/nearpool/connectx4.toml \
  /usr/share/man/man1/nearpmd.1.gz /usr/share/bash-completion/completions/nearpmd \
  /usr/share/doc/nearpool/copyright; do
  # A minimal system leaves manual pages out.
  [[ $file != */man/* || -d $root/usr/share/man/man1 ]] || continue
  check "$file is there" test -e "$root$file"
done
removed() {
  enter apt-get purge -y nearpool >"$work/run" 2>&1 &&
    [[ ! -e $root/usr/bin/nearpmd && -z $(compgen -G "$root/usr/lib/*/dpdk/pmds-*/librte_mempool_page_pool.so") ]]
}
check "it goes away without a trace" removed
tap_done
