# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs through the launcher, in a base directory and network namespaces of the test's own."""
import os
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SOURCE = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", SOURCE / "build"))
LAUNCHER = BUILD / "drivers/connectx4/launcher/connectx4"
DEADLINE = 60  # seconds; reached only by what hangs

_base = tempfile.TemporaryDirectory(prefix="connectx4-test-")
BASE = Path(_base.name) / "base"
WORK = Path(_base.name)
ENVIRONMENT = dict(os.environ, CONNECTX4_BASE=str(BASE))


def wait_until(condition, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def command_line(options, command):
    return [str(LAUNCHER), "--netns", *options, "--", *command]


def run(options, command, **more):
    return subprocess.run(command_line(options, command), env=ENVIRONMENT, text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)


class Program:
    """A running program whose output is kept."""

    def __init__(self, options, command, before=()):
        self.launch([*before, *command_line(options, command)])

    def launch(self, line):
        self.process = subprocess.Popen(line, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            text = os.read(self.process.stdout.fileno(), 65536)
            if not text:
                return
            self.output += text.decode(errors="replace")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, pattern, seconds=DEADLINE):
        return wait_until(lambda: re.search(pattern, self.output) or self.process.poll() is not None,
                          seconds) and re.search(pattern, self.output) is not None

    def ask(self, line, pattern):
        """The match of the pattern in what is said after the line."""
        start = len(self.output)
        self.send(line)
        wait_until(lambda: re.search(pattern, self.output[start:]) or self.process.poll() is not None)
        return re.search(pattern, self.output[start:])

    def finish(self, line=None):
        if line is not None and self.process.poll() is None:
            self.send(line)
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = None
        self.reader.join(DEADLINE)
        return status


def testpmd(options, arguments, memory=("--in-memory",), before=(), eal=("-m", "96")):
    """testpmd at its prompt, not forwarding yet."""
    name = f"cx4_{os.getpid()}_{time.monotonic_ns()}"
    program = Program(options, ["stdbuf", "-oL", "dpdk-testpmd", "-l", "0,1", *memory, *eal,
                                "--no-telemetry", f"--file-prefix={name}", "--", "-i", "--nb-cores=1",
                                "--total-num-mbufs=4096", *arguments], before)
    program.prefix = name
    program.expect("testpmd> ")
    return program
