#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the capture files of this directory: make_captures.py DIRECTORY

Everything is made up from a fixed seed; see README.md beside this file.
"""
import itertools
import random
import struct
import sys
from pathlib import Path

SEED = 20191
FRAMES = 2000
FIRST_SECOND = 1704067200  # 2024-01-01 00:00:00 UTC
LARGEST_SNAPLEN = 262144  # what libpcap accepts at most
LINK_ETHERNET = 1

ETHER_IPV4, ETHER_ARP, ETHER_VLAN, ETHER_IPV6 = 0x0800, 0x0806, 0x8100, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
SMALLEST_FRAME, LARGEST_FRAME = 60, 1514


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Host:
    """A made-up station: a locally administered MAC, addresses of the documentation ranges."""

    def __init__(self, number):
        self.mac = bytes([0x02, 0x00, 0x5E, 0x00, number >> 8, number & 0xFF])
        network = (bytes([192, 0, 2]), bytes([198, 51, 100]), bytes([203, 0, 113]))[number % 3]
        self.ipv4 = network + bytes([1 + number % 250])
        self.ipv6 = bytes.fromhex("20010db8") + bytes(10) + struct.pack("!H", 1 + number)


class Flow:
    def __init__(self, rng, hosts):
        self.source, self.destination = rng.sample(hosts, 2)
        self.protocol = rng.choices((TCP, UDP, ICMP), (60, 32, 8))[0]
        self.is_ipv6 = rng.random() < 0.3
        self.vlan = rng.randrange(1, 4095) if rng.random() < 0.15 else None
        self.source_port = rng.randrange(1024, 65536)
        self.destination_port = rng.choice((53, 80, 443, 4789, 5060, 8080))
        self.sequence = rng.getrandbits(32)
        self.identification = rng.getrandbits(16)


def transport(flow, payload, pseudo_header):
    """TCP, UDP or ICMP with its checksum."""
    if flow.protocol == TCP:
        segment = struct.pack("!HHIIBBHHH", flow.source_port, flow.destination_port, flow.sequence,
                              1, 5 << 4, 0x18, 0xFFFF, 0, 0) + payload
        flow.sequence = (flow.sequence + len(payload)) & 0xFFFFFFFF
        at = 16
    elif flow.protocol == UDP:
        segment = struct.pack("!HHHH", flow.source_port, flow.destination_port, 8 + len(payload),
                              0) + payload
        at = 6
    else:
        echo_request = 128 if flow.is_ipv6 else 8
        flow.sequence = (flow.sequence + 1) & 0xFFFF
        segment = struct.pack("!BBHHH", echo_request, 0, 0, flow.source_port,
                              flow.sequence) + payload
        at = 2
    value = checksum(pseudo_header(len(segment)) + segment)
    if flow.protocol == UDP and value == 0:
        value = 0xFFFF
    return segment[:at] + struct.pack("!H", value) + segment[at + 2:]


TRANSPORT_HEADER = {TCP: 20, UDP: 8, ICMP: 8}


def ip_packet(rng, flow, size):
    """An IP packet of size bytes, or of the smallest size that its headers allow."""
    header = 40 if flow.is_ipv6 else 20
    payload = rng.randbytes(max(0, size - header - TRANSPORT_HEADER[flow.protocol]))
    source, destination = flow.source, flow.destination
    if flow.is_ipv6:
        protocol = ICMPV6 if flow.protocol == ICMP else flow.protocol
        segment = transport(flow, payload, lambda length: source.ipv6 + destination.ipv6 +
                            struct.pack("!II", length, protocol))
        return struct.pack("!IHBB", 6 << 28, len(segment), protocol, 64) + source.ipv6 + \
            destination.ipv6 + segment

    def pseudo_header(length):
        if flow.protocol == ICMP:
            return b""
        return source.ipv4 + destination.ipv4 + struct.pack("!BBH", 0, flow.protocol, length)

    segment = transport(flow, payload, pseudo_header)
    flow.identification = (flow.identification + 1) & 0xFFFF
    fields = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(segment), flow.identification, 0x4000, 64,
                         flow.protocol)
    addresses = source.ipv4 + destination.ipv4
    return fields + struct.pack("!H", checksum(fields + b"\0\0" + addresses)) + addresses + segment


def ethernet(destination, source, vlan, ether_type, packet):
    tag = struct.pack("!HH", ETHER_VLAN, vlan) if vlan is not None else b""
    frame = destination + source + tag + struct.pack("!H", ether_type) + packet
    return frame + bytes(max(0, SMALLEST_FRAME - len(frame)))


def arp_request(rng, hosts):
    source, target = rng.sample(hosts, 2)
    body = struct.pack("!HHBBH", 1, ETHER_IPV4, 6, 4, 1) + source.mac + source.ipv4 + bytes(6) + \
        target.ipv4
    return ethernet(b"\xff" * 6, source.mac, None, ETHER_ARP, body)


def frame_size(rng):
    """Three humps, as in a network of requests, answers and transfers."""
    low, high = rng.choices(((60, 128), (129, 600), (1400, 1514)), (62, 24, 14))[0]
    return rng.choice((low, high, rng.randint(low, high)))


def mixed_frames(rng, count):
    hosts = [Host(number) for number in range(64)]
    flows = [Flow(rng, hosts) for _ in range(200)]
    # Every kind of frame is there, however the dice fall.
    kinds = itertools.product((None, 7), (False, True), (TCP, UDP, ICMP))
    for flow, kind in zip(flows, kinds):
        flow.vlan, flow.is_ipv6, flow.protocol = kind
    frames = []
    for _ in range(count):
        if rng.random() < 0.03:
            frames.append(arp_request(rng, hosts))
            continue
        flow = rng.choice(flows)
        header = 14 + (4 if flow.vlan is not None else 0)
        frames.append(ethernet(flow.destination.mac, flow.source.mac, flow.vlan,
                               ETHER_IPV6 if flow.is_ipv6 else ETHER_IPV4,
                               ip_packet(rng, flow, frame_size(rng) - header)))
    return frames


def odd_frames(rng):
    """Sizes no network card delivers, and one that needs several buffers."""
    addresses = Host(1).mac + Host(2).mac + struct.pack("!H", 0x88B5)  # a type for experiments
    return [(addresses + rng.randbytes(size))[:size] for size in (0, 1, 13, 14, 60, 1514, 9000)]


def capture_file(frames, *, order="<", nanoseconds=False, snaplen=LARGEST_SNAPLEN):
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, LINK_ETHERNET)
    for number, frame in enumerate(frames):
        seconds, microseconds = divmod(number * 137, 1000000)
        fraction = microseconds * 1000 + number % 1000 if nanoseconds else microseconds
        kept = frame[:snaplen]
        content += struct.pack(order + "IIII", FIRST_SECOND + seconds, fraction, len(kept),
                               len(frame)) + kept
    return content


def captures():
    """File name to content."""
    rng = random.Random(SEED)
    mixed = mixed_frames(rng, FRAMES)
    few = mixed[:20]
    return {
        "capture.pcap": capture_file(mixed),
        "odd_sizes.pcap": capture_file(odd_frames(rng)),
        "nanosecond.pcap": capture_file(few, nanoseconds=True),
        "big_endian.pcap": capture_file(few, order=">"),
        "big_endian_nanosecond.pcap": capture_file(few, order=">", nanoseconds=True),
        "short_snaplen.pcap": capture_file(few, snaplen=96),
        "truncated.pcap": capture_file(few)[:-len(few[-1]) // 2],
        "empty.pcap": capture_file([]),
    }


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: make_captures.py DIRECTORY   (where the files go)")
    for name, content in captures().items():
        (Path(sys.argv[1]) / name).write_bytes(content)


if __name__ == "__main__":
    main()
