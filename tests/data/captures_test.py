#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The capture files are those of the generator, and are what README.md says."""
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system"), str(HERE.parent / "tools")]
import make_captures  # noqa: E402
import pcap_compare  # noqa: E402
import tap  # noqa: E402

TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58


def ones_complement_sum(data):
    """Written apart from the generator's: adds byte by byte and carries at the end."""
    total = sum(byte << 8 if at % 2 == 0 else byte for at, byte in enumerate(data))
    return total % 0xFFFF


def sum_is_right(data):
    """Data that holds a correct checksum sums up to minus zero."""
    return ones_complement_sum(data) == 0


def parse(frame):
    """(kind, checksums are right)"""
    at = 12
    tagged = frame[at:at + 2] == b"\x81\x00"
    at += 4 if tagged else 0
    ether_type = struct.unpack_from("!H", frame, at)[0]
    packet = frame[at + 2:]
    name = "vlan " if tagged else ""
    if ether_type == 0x0806:
        return name + "arp", True
    if ether_type == 0x0800:
        length = struct.unpack_from("!H", packet, 2)[0]
        protocol, segment = packet[9], packet[20:length]
        pseudo = b"" if protocol == ICMP else (
            packet[12:20] + struct.pack("!BBH", 0, protocol, len(segment)))
        return f"{name}ipv4 {protocol}", sum_is_right(packet[:20]) and sum_is_right(pseudo + segment)
    length = struct.unpack_from("!H", packet, 4)[0]
    protocol, segment = packet[6], packet[40:40 + length]
    return f"{name}ipv6 {protocol}", sum_is_right(
        packet[8:40] + struct.pack("!II", length, protocol) + segment)


made = make_captures.captures()
for name, content in made.items():
    tap.check(f"{name} is what the generator makes", (HERE / name).read_bytes() == content)
tap.check("no capture file but the generator's",
          {path.name for path in HERE.glob("*.pcap*")} == set(made))
tap.check("capture.pcap is below 1 MiB", len(made["capture.pcap"]) < 1 << 20)

frames = pcap_compare.read_capture(HERE / "capture.pcap")
lengths = [len(frame) for frame in frames]
parsed = [parse(frame) for frame in frames]
kinds = {kind for kind, _ in parsed}
tap.check("capture.pcap has 2,000 frames", len(frames) == 2000)
tap.check("capture.pcap spans 60 to 1,514 bytes", (min(lengths), max(lengths)) == (60, 1514))
tap.check("capture.pcap holds every kind of frame",
          {"arp"} | {f"{tag}{ip}" for tag in ("", "vlan ")
                     for ip in ("ipv4 6", "ipv4 17", "ipv4 1", "ipv6 6", "ipv6 17", "ipv6 58")}
          == kinds, kinds)
tap.check("every checksum in capture.pcap is right", all(right for _, right in parsed))
tap.check("a wrong checksum would be seen",
          not parse(frames[0][:-1] + bytes([frames[0][-1] ^ 1]))[1], parsed[0])
tap.check("capture.pcap has more than 30 stations", len({frame[6:12] for frame in frames}) > 30)
tap.check("odd_sizes.pcap has the sizes promised",
          [len(frame) for frame in pcap_compare.read_capture(HERE / "odd_sizes.pcap")]
          == [0, 1, 13, 14, 60, 1514, 9000])
few = frames[:20]
for name in ("nanosecond.pcap", "big_endian.pcap", "big_endian_nanosecond.pcap"):
    tap.check(f"{name} holds the first 20 frames", pcap_compare.read_capture(HERE / name) == few)
tap.check("short_snaplen.pcap holds their first 96 bytes",
          pcap_compare.read_capture(HERE / "short_snaplen.pcap") == [frame[:96] for frame in few])
tap.check("truncated.pcap holds 19 of them",
          pcap_compare.read_capture(HERE / "truncated.pcap", allow_truncated=True) == few[:19])
tap.check("empty.pcap holds none", pcap_compare.read_capture(HERE / "empty.pcap") == [])
sys.exit(tap.done())
