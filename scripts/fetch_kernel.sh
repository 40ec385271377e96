#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fetch_kernel.sh PACKAGE DIR: unpacks the kernel that a Debian kernel package depends on into DIR:
# vmlinuz, the modules a guest needs as modules/*.ko, and its release's name. Installs nothing; no root needed.
# Says nothing and asks no server when DIR has one already.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

package=$1 dir=$2
[[ -f $dir/release ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The package that is named only points at the newest one.
download() {
  local name
  name=$(apt-cache depends --no-recommends --no-suggests "$package" 2>/dev/null |
    sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
  [[ -n $name ]] && (cd "$work" && apt-get download "$name" >>"$work/log" 2>&1)
}

note "fetching the kernel of $package for guests"
# The lists there are may name a version that is gone.
if ! download; then
  { is_root && apt-get update >>"$work/log" 2>&1 && download; } || {
    tail -n 5 "$work/log" >&2
    die "the kernel package that $package depends on could not be fetched: run 'apt-get update' as root and try again"
  }
fi

members=('./boot/vmlinuz-*')
for part in drivers/virtio drivers/vfio virt/lib drivers/net/tun.ko fs/9p fs/netfs fs/fscache net/9p; do
  members+=("./lib/modules/*/kernel/$part")
done
dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" --wildcards "${members[@]}"
rm -rf "$dir"
mkdir -p "$dir/modules"
mv "$work"/boot/vmlinuz-* "$dir/vmlinuz"
find "$work/lib/modules" -name '*.ko' -exec mv -t "$dir/modules" {} +
# Last: it says that the rest is there.
basename "$work"/lib/modules/* >"$dir/release"
