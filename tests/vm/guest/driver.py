# SPDX-License-Identifier: BSD-3-Clause
"""tests/vm/pool_driver: arena and pools line by line, and a judge of where held pages are."""
import re
import subprocess

import judge
import rig

DRIVER = rig.BUILD / "tests/vm/pool_driver"


class Driver:
    def __init__(self, lcores):
        line = [str(DRIVER), f"--lcores={lcores}", "--in-memory", "--no-pci", "--no-telemetry",
                "--file-prefix=driver", "--log-level=lib.eal:error"]
        # pylint: disable-next=consider-using-with # ended by finish()
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.pid = self.process.pid
        self.said = []

    def ask(self, line):
        """The answer to one line."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self):
        while True:
            text = self.process.stdout.readline()
            self.said.append(text.rstrip())
            if not text or text.startswith(("ok", "error")):
                return text.rstrip()

    def numbers(self, line):
        return {name: int(value) for name, value in re.findall(r"([a-z_]+) (-?\d+)", self.ask(line))}

    def take(self, lcore, pool, count):
        return self.numbers(f"take {lcore} {pool} {count}")["took"]

    def give(self, lcore, pool, count):
        return self.numbers(f"give {lcore} {pool} {count}")["gave"]

    def nodes(self, pool):
        """The pages that are held, by the node that the kernel says they are on."""
        pages = [int(word, 16) for word in self.ask(f"pages {pool}").split()[1:]]
        return judge.nodes_of(self.pid, pages) if pages else {}

    def finish(self):
        """Gives everything back; whether all pages came home."""
        self.process.stdin.close()
        answer = self._answer()
        return self.process.wait(rig.DEADLINE) == 0 and answer == "ok all pages came home"
