# SPDX-License-Identifier: BSD-3-Clause
"""nearpmd at its prompt inside the guest, on the software ConnectX-4, and what scenarios ask it."""
import re
from pathlib import Path

import judge
import rig

NEARPMD = rig.BUILD / "app/nearpmd/nearpmd"
# CPUs 0 and 1 are on node 0, 2 and 3 on node 1. Lcore 3 may float over one of each.
LCORES = "--lcores=0@0,1@1,2@2,3@(1,3)"
RXD = 256
# Two ports, one on each node, wired to each other. What nearpmd sends first then goes round for ever.
# A moderate rate: emulated CPUs are to keep up, and samples to be close to each other in packets.
PORTS = ["-v", "--cpus", "3", "--ports", "2", "--numa-node", "0,1", "--rate", "4kpps", "--lossless", "on"]


def only_child(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def hugepages_on_both_nodes():
    for node in (0, 1):
        judge.set_hugepages(node, 160)


class Nearpmd(rig.Program):
    """@param ports: the launcher's options; None: without it, on what eal names."""

    def __init__(self, arguments=(), lcores=LCORES, ports=PORTS, eal=(), before=(),
                 descriptors=RXD):
        line = [*before, str(NEARPMD), lcores, "--in-memory", "--no-telemetry", "--file-prefix=vm", *eal,
                "--", "-i", f"--rxd={descriptors}", f"--txd={descriptors}", *arguments]
        self.launched = ports is not None
        self.pid = None
        if self.launched:
            super().__init__(ports, line)
        else:
            self.launch(line)

    def start(self, bursts=2):
        """Forwards; frames go round from then on."""
        good = self.ask(f"start tx_first {bursts}", r"port 1: \d+ frames sent first")
        if good:
            self.pid = only_child(self.process.pid) if self.launched else self.process.pid
        return bool(good)

    def say(self, line, end):
        """What is printed after a command, up to a pattern; empty if that does not come."""
        at = len(self.output)
        self.send(line)
        pattern = re.compile(end)
        found = rig.wait_until(lambda: pattern.search(self.output, at))
        return self.output[at:] if found else ""

    def received(self, port):
        found = re.search(rf"port {port} \(.*\): received (\d+)",
                          self.say("show fwd stats all", rf"port {port} \(.*\): received \d+ "))
        return int(found.group(1)) if found else -1

    def wait_for_frames(self, port, count):
        """@return the number received, at least count; False if they do not come."""
        seen = []
        good = rig.wait_until(lambda: seen.append(self.received(port)) or seen[-1] >= count)
        return good and seen[-1]

    def move(self, port, lcore):
        return bool(self.say(f"move rxq {port} 0 lcore {lcore}",
                             rf"port {port} queue 0: lcore \w+ -> {lcore}\n"))

    def ring(self, port):
        return judge.ConnectX4Ring(self.pid, self.output, port)

    def pool(self, port):
        """The numbers of `show page_pool`, by their names."""
        text = self.say(f"show page_pool {port} 0", r"misuse \d+\n")
        return {name: int(value) for name, value in re.findall(r"([a-z][a-z ]+) (\d+)", text)}

    def balances(self):
        """Quits; at the end the books have to balance and all ports to be closed."""
        return self.finish("quit") == 0 and "\nthe books balance" in self.output
