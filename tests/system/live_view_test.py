#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nearpmd --stats-period on a terminal: a table that is redrawn, with rates that are not zero."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.environ["NEARPOOL_SOURCE"], "tests/tools"))
import nearpmd_ports  # noqa: E402
import tap  # noqa: E402

DEADLINE = 90
REDRAW = re.compile(r"\x1b\[3F\x1b\[J")
ROW = re.compile(r"^ +([01]) +0 +1@0 +([0-9.]+)([kMG]?) .* 100\.0% ", re.M)


def start(terminal):
    return subprocess.Popen(
        nearpmd_ports.command_line("0@0,1@1", *nearpmd_ports.SEED, "--stats-period=1"),
        stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL)


def read_until(source, found):
    """What comes from `source` until found(text) or the deadline."""
    text, end = "", time.monotonic() + DEADLINE
    while time.monotonic() < end and not found(text):
        if select.select([source], [], [], 0.2)[0]:
            try:
                text += os.read(source, 65536).decode()
            except OSError:  # the other end of a terminal is gone
                break
    return text


def main():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    program = start(theirs)
    os.close(theirs)
    text = read_until(ours, lambda seen: len(REDRAW.findall(seen)) >= 2 and seen.endswith("\n"))
    tap.check("a table for two queues", "lcore@node" in text, text[-2000:])
    tap.check("which is redrawn in place", len(REDRAW.findall(text)) >= 2, text[-2000:])
    rows = ROW.findall(text)
    tap.check("both queues, all pages local", {row[0] for row in rows} == {"0", "1"}, text[-2000:])
    tap.check("rates that are not zero", bool(rows) and all(float(row[1]) > 0 for row in rows), rows)
    tap.check("no other statistics on a terminal", "device: rx" not in text, text[-2000:])
    program.send_signal(signal.SIGINT)
    text = read_until(ours, lambda seen: "the books balance" in seen)
    tap.check("it ends, the books balance", "the books balance" in text, text[-2000:])
    program.wait(DEADLINE)

    reading, writing = os.pipe()
    program = start(writing)
    os.close(writing)
    text = read_until(reading, lambda seen: seen.count("port 1 queue 0: lcore@node") >= 2)
    tap.check("piped: a line for each queue", text.count("port 1 queue 0: lcore@node") >= 2, text)
    tap.check("piped: no escape sequences", "\x1b" not in text, text)
    program.send_signal(signal.SIGINT)
    read_until(reading, lambda seen: "the books balance" in seen)
    tap.check("piped: it ends well", program.wait(DEADLINE) == 0)
    return tap.done()


sys.exit(main())
