#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# /init of the guest, run by busybox: the host's root file system, read-only, becomes the guest's;
# then the one command that is in the shared folder runs, and its exit status goes there.
export PATH=/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
while read -r module; do
  busybox insmod "/modules/$module.ko" || busybox echo "init: no module $module"
done </modules/order

options=trans=virtio,version=9p2000.L,msize=262144
busybox mount -t 9p -o "ro,cache=loose,$options" root /host
busybox mount --bind /host /guest
for place in proc sys dev; do busybox mount --move /$place /guest/$place; done
for place in tmp run var; do busybox mount -t tmpfs "$place" "/guest/$place"; done
busybox mkdir -p /guest/var/run /guest/run/share
[ -d /guest/dev/shm ] || busybox mkdir /guest/dev/shm
busybox mount -t tmpfs shm /guest/dev/shm
busybox mount -t 9p -o "rw,$options" share /guest/run/share
# shellcheck source=/dev/null
. /guest/run/share/environment

# What is covered above comes back where the tests lie.
for place in "$NEARPOOL_SOURCE" "$NEARPOOL_BUILD"; do
  busybox mkdir -p "/guest$place"
  [ -e "/guest$place/meson.build" ] || [ -e "/guest$place/build.ninja" ] ||
    busybox mount --bind "/host$place" "/guest$place"
done
busybox ip link set lo up
busybox chroot /guest /bin/sh /run/share/command >/guest/run/share/output 2>&1
# Whole or not at all: the host waits for the name.
busybox echo $? >/guest/run/share/status.new
busybox mv /guest/run/share/status.new /guest/run/share/status
busybox poweroff -f
