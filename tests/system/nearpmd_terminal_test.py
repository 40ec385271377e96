#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The prompt on a terminal: completion, help with '?', history, errors, window changes, the end."""
import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import nearpmd_ports  # noqa: E402
import tap  # noqa: E402

DEADLINE = 60 if os.environ.get("NEARPOOL_SANITIZE", "none") == "none" else 300
command = nearpmd_ports.command_line("0@0,1@1", "-i")
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
seen = ""


def expect(pattern):
    """What follows the last thing expected, up to the pattern."""
    global seen
    end = time.monotonic() + DEADLINE
    while not (match := re.search(pattern, seen)):
        if time.monotonic() > end:
            return False
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            text = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the program has ended
            return False
        seen += text
    seen = seen[match.end():]
    return True


def type_in(text):
    os.write(terminal, text.encode())


tap.check("there is a prompt", expect("nearpmd> "), seen[-800:])
type_in("show nu\t")
tap.check("a word is completed", expect("show numa"), seen[-300:])
type_in("\r")
tap.check("and runs", expect("lcore 0: node"), seen[-300:])
type_in("move rxq 0 0 lc\t1\r")
tap.check("so is a word in the middle of a command", expect("lcore none|lcore 1 -> 1|-> 1"), seen[-300:])
type_in("show port ?")
tap.check("'?' lists what may follow", expect("summary"), seen[-300:])
type_in("\x03")  # a new line
type_in("\x1b[A")
tap.check("the arrow brings the last line back", expect(r"move rxq 0 0 lcore +1"), seen[-300:])
type_in("\x03port stop 9\r")
tap.check("an error is said", expect("nearpmd: there is no port 9"), seen[-300:])
type_in("strat\r")
tap.check("what is no command is said", expect("(?i)command not found|no command"), seen[-300:])
for _ in range(200):
    os.kill(child, signal.SIGWINCH)
    os.kill(child, signal.SIGUSR1)
type_in("show dying\r")
tap.check("a storm of signals changes nothing", expect("no pool is dying"), seen[-300:])
type_in("quit\r")
tap.check("quit prints the books", expect("the books balance"), seen[-300:])
end = time.monotonic() + DEADLINE
while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
    select.select([terminal], [], [], 0.05)
    try:
        os.read(terminal, 65536)
    except OSError:
        pass
if ended == (0, 0):
    os.kill(child, signal.SIGKILL)
tap.check("what a user typed wrong is not in the exit code", ended[1] == 0 and ended[0] == child, str(ended))
sys.exit(tap.done())
