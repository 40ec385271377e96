# SPDX-License-Identifier: BSD-3-Clause
"""Where pages of another process are, as the kernel sees it, and which pages a device is about to
receive into, as the device sees it. Nothing here asks nearpool."""
import ctypes
import mmap
import os
import re
import struct
from collections import Counter
from pathlib import Path

MOVE_PAGES = 279  # x86-64's number of the system call
_libc = ctypes.CDLL(None, use_errno=True)


def nodes_of(pid, addresses):
    """Counts addresses of a process by the node that their memory is on; a negative one is an errno."""
    count = len(addresses)
    pages = (ctypes.c_void_p * count)(*addresses)
    status = (ctypes.c_int * count)()
    # Without a list of nodes the call moves nothing and only tells.
    if _libc.syscall(MOVE_PAGES, pid, ctypes.c_ulong(count), pages, None, status, 0) != 0:
        raise OSError(ctypes.get_errno(), "move_pages")
    return Counter(status)


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


class ArenaRange:
    """One mapping of an arena: what it is bound to, and its pages by node, from numa_maps."""

    def __init__(self, line):
        self.bound = re.search(r"\bbind:(\d+)", line)
        self.bound = int(self.bound.group(1)) if self.bound else None
        self.pages = Counter({int(node): int(count)
                              for node, count in re.findall(r"\bN(\d+)=(\d+)", line)})
        size = re.search(r"kernelpagesize_kB=(\d+)", line)
        self.page_bytes = int(size.group(1)) * 1024 if size else 4096


def arena_ranges(pid):
    lines = Path(f"/proc/{pid}/numa_maps").read_text().splitlines()
    return [ArenaRange(line) for line in lines if "nearpool-" in line]


class ConnectX4Ring:
    """The ring of a receive queue of the software ConnectX-4, as its -v says where it is."""
    PATTERN = r"mlx5_%d: receive queue 0x\w+: ring 0x(\w+), (\d+) entries of (\d+) bytes"

    def __init__(self, pid, output, port):
        found = re.findall(self.PATTERN % port, output)
        if not found:
            raise LookupError(f"no ring of port {port} in the output")
        self.pid = pid
        self.address = int(found[-1][0], 16)
        self.entries, self.size = int(found[-1][1]), int(found[-1][2])

    def buffers(self):
        ring = read_memory(self.pid, self.address, self.entries * self.size)
        # Byte count, key, address of an entry's first segment, big-endian.
        return [struct.unpack_from(">IIQ", ring, at)[2] for at in range(0, len(ring), self.size)]

    def nodes(self):
        return nodes_of(self.pid, self.buffers())


class E1000eRing:
    """The receive ring of an e1000e, found through the registers of the device itself. The IOMMU
    gives the device the process's own addresses (--iova-mode=va)."""
    RDBAL, RDBAH, RDLEN = 0x2800, 0x2804, 0x2808

    def __init__(self, pid, pci):
        self.pid = pid
        descriptor = os.open(f"/sys/bus/pci/devices/{pci}/resource0", os.O_RDWR | os.O_SYNC)
        try:
            with mmap.mmap(descriptor, 0x20000) as registers:
                low, high, self.bytes = (struct.unpack_from("<I", registers, at)[0]
                                         for at in (self.RDBAL, self.RDBAH, self.RDLEN))
        finally:
            os.close(descriptor)
        self.address = high << 32 | low
        self.entries = self.bytes // 16

    def buffers(self):
        ring = read_memory(self.pid, self.address, self.bytes)
        return [struct.unpack_from("<Q", ring, at)[0] for at in range(0, self.bytes, 16)]

    def nodes(self):
        return nodes_of(self.pid, self.buffers())


def set_hugepages(node, count):
    path = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
    path.write_text(str(count))
    got = int(path.read_text())
    if got != count:
        raise OSError(f"node {node}: {got} of {count} hugepages")
