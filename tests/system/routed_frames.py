#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames for a router, and a look at what it made of them.

    routed_frames.py make FILE N     writes N frames: of ten, six for 198.18.0.0/24 and
                                     198.18.1.0/24 in turn, two for nowhere, one with TTL 1, one no IP
    routed_frames.py check FILE P    each is for port P, with TTL 63 and a right checksum; says how many
"""
import struct
import sys

ETHERNET = bytes.fromhex("020000000001" "020000000002")


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(destination, ttl):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, ttl, 17, 0, bytes([10, 0, 0, 1]), destination)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + bytes(26)


def frame(number):
    kind = number % 10
    if kind < 6:
        return ETHERNET + b"\x08\x00" + ipv4(bytes([198, 18, kind % 2, 7]), 64)
    if kind < 8:
        return ETHERNET + b"\x08\x00" + ipv4(bytes([203, 0, 113, 1]), 64)
    if kind == 8:
        return ETHERNET + b"\x08\x00" + ipv4(bytes([198, 18, 0, 7]), 1)
    return ETHERNET + b"\x08\x06" + bytes(46)


def make(path, count):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(count):
            data = frame(number)
            file.write(struct.pack("<IIII", 0, number, len(data), len(data)) + data)


def check(path, port):
    with open(path, "rb") as file:
        data = file.read()
    at, count = 24, 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        header = data[at + 16 + 14:at + 16 + 34]
        if header[8] != 63 or checksum(header) != 0 or header[16:19] != bytes([198, 18, port]):
            sys.exit(f"frame {count} of {path}: {header.hex()}")
        at += 16 + size
        count += 1
    print(count)


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    check(sys.argv[2], int(sys.argv[3]))
