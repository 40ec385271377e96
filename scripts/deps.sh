#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that building, running and testing nearpool need.
#   scripts/deps.sh [build] [test]     no group named: both
# Says nothing and asks no server when nothing is missing.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Build and run. libdpdk-dev brings DPDK's libraries and all its drivers.
build_packages=(
  g++ meson ninja-build pkg-config python3
  dpkg-dev             # tells meson where Debian has libraries: else they go to lib64, unseen
  libdpdk-dev libnuma-dev
  libcli11-dev libfmt-dev libexpected-dev
  libibverbs-dev ibverbs-providers  # what the software ConnectX-4 replaces
)

test_packages=(
  dpdk-dev             # dpdk-testpmd: an unmodified program on the plugin
  libgtest-dev libgmock-dev
  libasan8 libtsan2 libubsan1
  clang-14 clang-format-14 shellcheck
  iproute2 util-linux iputils-ping  # network namespaces
  tcpdump tcpreplay    # on the control netdev of a software ConnectX-4
  debhelper mmdebstrap debian-archive-keyring  # the package, in a clean chroot
  lua5.3               # scripts for Pktgen
  mandoc               # man pages
  mkdocs               # the manual
  babeltrace2          # reads traces
  openvswitch-switch-dpdk  # another unmodified program on the plugin
  python3
  qemu-system-x86 busybox-static    # the guests of suite vm
  systemd              # systemd-analyze verify
)
# Fetched and unpacked for these guests, not installed.
guest_kernel=linux-image-amd64

packages=() kernel=
[[ $# -gt 0 ]] || set -- build test
for group in "$@"; do
  case $group in
    build) packages+=("${build_packages[@]}") ;;
    test) packages+=("${test_packages[@]}") kernel=$guest_kernel ;;
    *) die "no group '$group': the groups are build and test" ;;
  esac
done

command -v dpkg-query >/dev/null ||
  die "this is not a Debian system (no dpkg-query): install by hand: ${packages[*]}"

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed* ]]
}

# fetch_kernel: into build-kernel, where tests/vm/kernel.py looks for it.
fetch_kernel() {
  [[ -z $kernel ]] || bash "$root/scripts/fetch_kernel.sh" "$kernel" "$root/build-kernel"
}

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  fetch_kernel
  exit 0
fi

is_root || die "missing packages, and only root may install them: run 'sudo apt-get install ${missing[*]}'"

note "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt-get update >"$log" 2>&1 || note "apt-get update failed, trying with the package lists there are"
if ! apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
  tail -n 20 "$log" >&2
  unknown=()
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
  done
  ((${#unknown[@]})) &&
    die "apt-get knows no package ${unknown[*]}: nearpool is built on Debian 12, main section"
  die "apt-get could not install ${missing[*]}: its last lines are above"
fi
fetch_kernel
