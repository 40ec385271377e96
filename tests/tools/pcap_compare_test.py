#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pcap_compare.py sees what it has to see."""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import tap

COMPARE = Path(__file__).resolve().parent.parent / "system" / "pcap_compare.py"
FRAMES = [bytes([size]) * 6 + bytes([size + 1]) * 6 + bytes(range(size)) for size in (2, 48, 100)]
SHORT = b"\x01\x02\x03"


def capture(frames, order="<", magic=0xA1B2C3D4):
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for frame in frames:
        content += struct.pack(order + "IIII", 1, 2, len(frame), len(frame)) + frame
    return content


def swapped(frame):
    return frame[6:12] + frame[0:6] + frame[12:]


def compare(came_in, came_out, *options):
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / "in.pcap", Path(directory) / "out.pcap"]
        for path, content in zip(paths, (came_in, came_out)):
            path.write_bytes(content)
        run = subprocess.run([sys.executable, COMPARE, *options, *paths], text=True,
                             capture_output=True, check=False)
        return run.returncode, run.stdout + run.stderr


def expect(name, code, words, came_in, came_out, *options):
    got, text = compare(came_in, came_out, *options)
    tap.check(name, got == code and words in text, f"exit code {got}, said: {text}")


whole = capture(FRAMES)
changed = [FRAMES[0], FRAMES[1][:30] + b"\xff" + FRAMES[1][31:], FRAMES[2]]
expect("equal files are equal", 0, "3 in, 3 out, 0 dropped", whole, whole)
expect("byte order and time unit make no difference", 0, "0 differences", whole,
       capture(FRAMES, ">", 0xA1B23C4D))
expect("one changed byte is found", 1, "frame 1 came out as 1: 60 bytes; differs from byte 30 on",
       whole, capture(changed))
expect("a missing frame is found", 1, "frame 1 (60 bytes) did not come out", whole,
       capture([FRAMES[0], FRAMES[2]]))
expect("a missing last frame is found", 1, "frame 2 (112 bytes) did not come out", whole,
       capture(FRAMES[:2]))
expect("a doubled frame is found", 1, "one too many", whole, capture(FRAMES + FRAMES[2:]))
expect("a shortened frame is found", 1, "112 bytes expected, 111 came out", whole,
       capture(FRAMES[:2] + [FRAMES[2][:-1]]))
expect("exchanged frames are found", 1, "differences", whole, capture(FRAMES[::-1]))
expect("exchanged frames are let pass if asked", 0, "0 differences", whole, capture(FRAMES[::-1]),
       "--any-order")
expect("a changed byte is found in any order too", 1, "2 differences", whole,
       capture(changed[::-1]), "--any-order")
expect("swapped MACs are not taken for the same", 1, "differs from byte 0 on", whole,
       capture([swapped(frame) for frame in FRAMES]))
expect("swapped MACs are checked", 0, "0 differences", whole,
       capture([swapped(frame) for frame in FRAMES]), "--swap-macs")
expect("MACs not swapped are found", 1, "differs from byte 0 on", whole, whole, "--swap-macs")
expect("a size that may be dropped", 0, "1 dropped as allowed", capture([SHORT] + FRAMES), whole,
       "--allow-drop-sizes=3")
expect("no other size may", 1, "did not come out", capture([SHORT] + FRAMES), capture(FRAMES[1:]),
       "--allow-drop-sizes=3")
expect("it may also come out", 0, "0 dropped", capture([SHORT] + FRAMES), capture([SHORT] + FRAMES),
       "--allow-drop-sizes=3")
expect("unless drops are counted", 1, "0 frames dropped, 1 expected", capture([SHORT] + FRAMES),
       capture([SHORT] + FRAMES), "--allow-drop-sizes=3", "--expect-dropped=1")
expect("a repeated input", 0, "6 in, 6 out", whole, capture(FRAMES * 2), "--repeat=2")
expect("a repeated input that came out once", 1, "3 differences", whole, whole, "--repeat=2")
expect("a cut record cannot be read", 2, "112 bytes announced, 107 are there", whole[:-5], whole)
expect("a cut input is let pass if asked", 0, "2 in, 2 out", whole[:-5], capture(FRAMES[:2]),
       "--allow-truncated-input")
expect("a cut output never is", 2, "record 2", whole, whole[:-5], "--allow-truncated-input")
expect("an empty file cannot be read", 2, "0 bytes", b"", whole)
expect("other files cannot be read", 2, "no capture file", b"x" * 100, whole)
sys.exit(tap.done())
