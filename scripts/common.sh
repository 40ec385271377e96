# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the scripts share. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  note "$*"
  exit 1
}

is_root() { [[ $(id -u) -eq 0 ]]; }

hugepages_dir=/sys/kernel/mm/hugepages/hugepages-2048kB

# Free 2 MiB hugepages; 0 where the kernel has none.
free_hugepages() { cat "$hugepages_dir/free_hugepages" 2>/dev/null || echo 0; }

# ensure_hugepages N: true when N 2 MiB hugepages are free, after adding what is missing if we may.
# Pages that are there already stay: others may be using them.
ensure_hugepages() {
  local want=$1 have total
  have=$(free_hugepages)
  ((have >= want)) && return 0
  is_root && [[ -w $hugepages_dir/nr_hugepages ]] || return 1
  total=$(<"$hugepages_dir/nr_hugepages")
  echo $((total + want - have)) >"$hugepages_dir/nr_hugepages" 2>/dev/null || return 1
  (($(free_hugepages) >= want))
}

# as_builder DIR command...: what is built in a clone of the user who called sudo shall be that user's,
# who could not build there any more otherwise. A directory that root has built stays root's.
as_builder() {
  local dir=$1 uid=${SUDO_UID:-0} home
  shift
  if ! is_root || [[ $uid == 0 || $(stat -c %u "$root") != "$uid" ]] ||
    [[ -e $dir && $(stat -c %u "$dir") != "$uid" ]]; then
    "$@"
    return
  fi
  home=$(getent passwd "$uid" | cut -d: -f6)
  setpriv "--reuid=$uid" "--regid=${SUDO_GID:-$uid}" --clear-groups env "HOME=${home:-/}" "$@"
}

# configure DIR [meson options]: sets DIR up once, afterwards only changes options that differ.
configure() {
  local dir=$root/$1
  shift
  if [[ -f $dir/build.ninja ]]; then
    as_builder "$dir" meson configure "$dir" "$@" >/dev/null
  else
    as_builder "$dir" meson setup "$dir" "$root" "$@"
  fi
}

# build DIR [targets]: two jobs, so that a small machine stays usable.
build() {
  local dir=$root/$1
  shift
  as_builder "$dir" ninja -C "$dir" -j2 "$@"
}
