#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what went into a program with what came out of it, byte for byte.

    pcap_compare.py [options] IN.pcap OUT.pcap

Reads capture files by itself, without libpcap, which wrote the one and read the other. Prints each
difference and a summary. Exit code 0: as expected, 1: different, 2: a file cannot be read.
"""
import argparse
import collections
import struct
import sys

MAGICS = {0xA1B2C3D4: "microseconds", 0xA1B23C4D: "nanoseconds"}
MACS = 12  # destination and source
ETHERNET_HEADER = 14
DIFFERENCES_SHOWN = 10


class Unreadable(Exception):
    pass


def read_capture(path, allow_truncated=False):
    """The captured bytes of each record."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    if len(content) < 24:
        raise Unreadable(f"{path}: {len(content)} bytes, a capture has a header of 24")
    for order in "<>":
        if struct.unpack_from(order + "I", content)[0] in MAGICS:
            break
    else:
        raise Unreadable(f"{path}: no capture file, it begins with {content[:4].hex()}")
    frames, at = [], 24
    while at < len(content):
        record = f"{path}: record {len(frames)} at byte {at}"
        if at + 16 > len(content):
            if allow_truncated:
                break
            raise Unreadable(f"{record}: its header is cut off")
        _, _, captured, length = struct.unpack_from(order + "IIII", content, at)
        if captured > length:
            raise Unreadable(f"{record}: {captured} bytes captured of {length}")
        at += 16
        if at + captured > len(content):
            if allow_truncated:
                break
            raise Unreadable(f"{record}: {captured} bytes announced, {len(content) - at} are there")
        frames.append(content[at:at + captured])
        at += captured
    return frames


def swap_macs(frame):
    """What swapping leaves of a frame; one without a whole header has nothing to swap."""
    if len(frame) < ETHERNET_HEADER:
        return frame
    return frame[6:MACS] + frame[:6] + frame[MACS:]


def describe(expected, got):
    if len(expected) != len(got):
        text = f"{len(expected)} bytes expected, {len(got)} came out; "
    else:
        text = f"{len(got)} bytes; "
    for at, (left, right) in enumerate(zip(expected, got)):
        if left != right:
            begin = max(0, at - 4)
            return (text + f"differs from byte {at} on: expected {expected[begin:at + 12].hex(' ')}, "
                    f"got {got[begin:at + 12].hex(' ')} (from byte {begin})")
    return text + "equal as far as both go"


def compare_in_order(expected, got, may_drop):
    """Returns (differences, number of frames dropped as allowed)."""
    differences, dropped, j = [], 0, 0
    for i, frame in enumerate(expected):
        if j < len(got) and got[j] == frame:
            j += 1
        elif len(frame) in may_drop:
            dropped += 1
        elif j >= len(got):
            differences.append(f"frame {i} ({len(frame)} bytes) did not come out")
        elif i + 1 < len(expected) and expected[i + 1] == got[j]:
            differences.append(f"frame {i} ({len(frame)} bytes) did not come out, the next one did")
        else:
            differences.append(f"frame {i} came out as {j}: {describe(frame, got[j])}")
            j += 1
    for k in range(j, len(got)):
        differences.append(f"frame {k} of the output ({len(got[k])} bytes) is one too many: "
                           f"{got[k][:16].hex(' ')}")
    return differences, dropped


def compare_any_order(expected, got, may_drop):
    differences, dropped = [], 0
    left = collections.Counter(got)
    for i, frame in enumerate(expected):
        if left[frame]:
            left[frame] -= 1
        elif len(frame) in may_drop:
            dropped += 1
        else:
            differences.append(f"frame {i} ({len(frame)} bytes) did not come out: "
                               f"{frame[:16].hex(' ')}")
    for frame, times in left.items():
        if times:
            differences.append(f"{times} too many of {len(frame)} bytes: {frame[:16].hex(' ')}")
    return differences, dropped


def sizes(text):
    return {int(word) for word in text.split(",") if word}


def main():
    parser = argparse.ArgumentParser(description="Compares a capture that went into a program "
                                     "with the one that came out of it.")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--swap-macs", action="store_true",
                        help="destination and source MAC are expected to be exchanged")
    parser.add_argument("--allow-drop-sizes", type=sizes, default=set(), metavar="N,N...",
                        help="frames of these sizes need not come out")
    parser.add_argument("--expect-dropped", type=int, metavar="N",
                        help="so many frames of the sizes allowed must be missing, no more or less")
    parser.add_argument("--any-order", action="store_true",
                        help="frames may overtake each other, as with several queues")
    parser.add_argument("--allow-truncated-input", action="store_true",
                        help="an input cut off within a record counts up to that record")
    parser.add_argument("--repeat", type=int, default=1, metavar="N",
                        help="the input went in N times")
    arguments = parser.parse_args()

    try:
        came_in = read_capture(arguments.input, arguments.allow_truncated_input)
        came_out = read_capture(arguments.output)
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    expected = came_in * arguments.repeat
    if arguments.swap_macs:
        expected = [swap_macs(frame) for frame in expected]
    compare = compare_any_order if arguments.any_order else compare_in_order
    differences, dropped = compare(expected, came_out, arguments.allow_drop_sizes)
    if arguments.expect_dropped is not None and dropped != arguments.expect_dropped:
        differences.append(f"{dropped} frames dropped, {arguments.expect_dropped} expected")

    for line in differences[:DIFFERENCES_SHOWN]:
        print(line)
    if len(differences) > DIFFERENCES_SHOWN:
        print(f"and {len(differences) - DIFFERENCES_SHOWN} differences more")
    print(f"{len(expected)} in, {len(came_out)} out, {dropped} dropped as allowed, "
          f"{len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
