# SPDX-License-Identifier: BSD-3-Clause
"""A program with a prompt, driven from outside: on a pipe, or on a terminal of its own that its user is given later."""
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import tty

# What a terminal is told of colours, cursors and line ends.
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class GoneError(Exception):
    """The program has ended, or does not answer."""


class AtPrompt:
    """`on_terminal`: the program sees a terminal, and hand_over() gives it to the user."""

    def __init__(self, command, on_terminal):
        self.output = ""  # all that it has written
        self._master = None
        if on_terminal:
            self._master, slave = pty.openpty()
            self._copy_size()
            self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                             preexec_fn=lambda: _take_terminal(slave))
            os.close(slave)
            self._from = self._to = self._master
        else:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT, start_new_session=True)
            self._from, self._to = self._process.stdout.fileno(), self._process.stdin.fileno()

    def send(self, line):
        try:
            os.write(self._to, (line + "\n").encode())
        except OSError as error:
            raise GoneError(f"it has ended before '{line}'") from error

    def ask(self, line, pattern, seconds=60):
        """Sends the line; the match of the pattern in what is said from then on."""
        start = len(self.output)
        self.send(line)
        return self.wait(pattern, start, seconds)

    def wait(self, pattern, start=0, seconds=60):
        deadline = time.monotonic() + seconds
        compiled = re.compile(pattern, re.MULTILINE | re.DOTALL)
        while True:
            match = compiled.search(self.output, start)
            if match:
                return match
            if time.monotonic() > deadline:
                raise GoneError(f"no answer like '{pattern[:40]}' within {seconds} s")
            if not self._read(0.1):
                raise GoneError(f"it has ended before an answer like '{pattern[:40]}'")

    def finish(self, line=None, seconds=60):
        """Ends it, by a line or else a signal; what it says last, and its exit code."""
        start = len(self.output)
        try:
            if line is None:
                self._process.terminate()
            else:
                self.send(line)
        except (GoneError, ProcessLookupError):
            pass
        deadline = time.monotonic() + seconds
        while self._read(0.1):
            if time.monotonic() > deadline:
                self._process.kill()
                break
        return self.output[start:], self._process.wait()

    def hand_over(self):
        """The user's terminal is the program's until it ends; its exit code."""
        before = termios.tcgetattr(sys.stdin)
        signal.signal(signal.SIGWINCH, lambda *_: self._copy_size())
        tty.setraw(sys.stdin)
        self.settle()
        try:
            self.send("")  # shows the prompt again
            while True:
                ready = select.select([sys.stdin, self._master], [], [])[0]
                if sys.stdin in ready:
                    typed = os.read(sys.stdin.fileno(), 1024)
                    if not typed:
                        break
                    os.write(self._master, typed)
                if self._master in ready:
                    said = self._read_bytes()
                    if not said:
                        break
                    os.write(sys.stdout.fileno(), said)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        return self._process.wait()

    def settle(self):
        """Reads what is still to come of an answer."""
        while select.select([self._from], [], [], 0.2)[0] and self._read(0):
            pass

    def _read(self, seconds):
        """False at the end of its output."""
        if not select.select([self._from], [], [], seconds)[0]:
            return True
        said = self._read_bytes()
        self.output += _TERMINAL_CODES.sub("", said.decode(errors="replace"))
        return bool(said)

    def _read_bytes(self):
        try:
            return os.read(self._from, 65536)
        except OSError:  # a terminal that its last program has closed
            return b""

    def _copy_size(self):
        try:
            size = fcntl.ioctl(sys.stdout, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)
        except OSError:
            pass


def _take_terminal(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
