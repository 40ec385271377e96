# SPDX-License-Identifier: BSD-3-Clause
"""Two nodes: the arena's memory of a node is on that node, or is refused with the numbers."""
import subprocess

import judge
import nearpmd
import rig
import tap

PAGES = 3000


def nearpmd_line(lcores, extra=()):
    return [str(nearpmd.NEARPMD), f"--lcores={lcores}", "--in-memory", "--no-pci", "--no-telemetry",
            "--file-prefix=vm", "--vdev=net_null0", "--vdev=net_null1", "--", "-i",
            f"--total-num-pages={PAGES}", "--rxd=256", "--txd=256", *extra]


class OnNull(rig.Program):
    """nearpmd on ports of no node. Not through the launcher."""

    def __init__(self, lcores, extra=()):  # pylint: disable=super-init-not-called
        self.launch(nearpmd_line(lcores, extra))


def arena_is_on(pmd, nodes, page_bytes):
    """Each range of the arena is bound to a node and wholly on it, one range for each node."""
    ranges = judge.arena_ranges(pmd.process.pid)
    text = [(place.bound, dict(place.pages), place.page_bytes) for place in ranges]
    good = [place.bound for place in ranges] == nodes and all(
        set(place.pages) == {place.bound} and place.page_bytes == page_bytes
        and place.pages[place.bound] * place.page_bytes >= PAGES * 2176 for place in ranges)
    return good, text


def starts_on(what, lcores, nodes, extra=(), page_bytes=2 << 20):
    pmd = OnNull(lcores, extra)
    tap.check(f"{what}: it starts", pmd.ask("show numa", "port 1: node"), pmd.output)
    good, text = arena_is_on(pmd, nodes, page_bytes)
    tap.check(f"{what}: each range is on its node, {nodes}", good, text)
    tap.check(f"{what}: it ends well", pmd.finish("quit") == 0, pmd.output[-1500:])


def refused(what, lcores, words, extra=()):
    line = nearpmd_line(lcores, extra)
    line.remove("-i")
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=rig.DEADLINE)
    text = done.stdout + done.stderr
    tap.check(f"{what}: refused with the numbers", done.returncode != 0 and all(w in text for w in words),
              text)


def run():
    nearpmd.hugepages_on_both_nodes()
    starts_on("hugepages on both nodes", "0@0,1@1,2@2", [0, 1])
    starts_on("ordinary pages", "0@0,1@1,2@2", [0, 1], ["--arena-no-huge"], 4096)
    judge.set_hugepages(1, 0)
    refused("none on node 1", "0@0,1@1,2@2", ["node 0 has 3", "node 1 has 0 MiB free of 8 MiB wanted",
                                              "the largest that fits is 8 MiB"])
    starts_on("none on node 1, and no lcore there", "0@0,1@1", [0])
    judge.set_hugepages(1, 160)
    judge.set_hugepages(0, 0)
    # The main lcore too: the EAL wants memory of its node for itself, and panics where there is none.
    line = nearpmd_line("0@0,2@2")
    done = subprocess.run([line[0], "--doctor", *line[1:]], capture_output=True, text=True, check=False,
                          timeout=rig.DEADLINE)
    tap.check("none on the main lcore's node: the doctor says so", done.returncode == 3 and
              "main lcore: on node 0, which has no free hugepage" in done.stdout, done.stdout + done.stderr)
    starts_on("none on node 0, and no lcore there", "0@3,2@2", [1])
