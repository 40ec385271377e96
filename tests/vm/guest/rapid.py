# SPDX-License-Identifier: BSD-3-Clause
"""A queue that goes to the other node and back a hundred times a second, under load: at the end no
page is missing, and all are where they belong."""
import os
import time

import nearpmd
import tap

SECONDS = 60
PERIOD = 0.01
# A test machine may be slower than that. Then moves follow each other without a pause; it has to
# get done at least one in thirty.
LEAST = SECONDS / PERIOD / 30
AT_ONCE = 2  # asked for and not yet answered
LOOP = ["-v", "--cpus", "3", "--ports", "1", "--numa-node", "0", "--wire", "loop", "--lossless", "on",
        "--rate", "4kpps"]


class Answers:
    """Counts the moves that were answered, each part of the output looked at once."""

    def __init__(self, pmd):
        self.pmd = pmd
        self.at = len(pmd.output)
        self.count = 0

    def look(self):
        end = self.pmd.output.rfind("\n") + 1
        self.count += self.pmd.output.count("port 0 queue 0: lcore ", self.at, end)
        self.at = max(self.at, end)
        return self.count


def moves(pmd):
    """@return (moves done, seconds they took)"""
    answers = Answers(pmd)
    began = time.monotonic()
    asked = 0
    while time.monotonic() < began + SECONDS:
        if asked - answers.look() < AT_ONCE:
            pmd.send(f"move rxq 0 0 lcore {(2, 1)[asked % 2]}")
            asked += 1
        time.sleep(max(0.001, began + asked * PERIOD - time.monotonic()))
    deadline = time.monotonic() + 30
    while answers.look() < asked and time.monotonic() < deadline:
        time.sleep(PERIOD)
    return answers.count, time.monotonic() - began, asked


def run():
    nearpmd.hugepages_on_both_nodes()
    pmd = nearpmd.Nearpmd(["--corelist=1,2", "--hardened", "--forward-mode=tx"], ports=LOOP)
    good = pmd.ask("start tx_first 4", r"port 0: \d+ frames sent first")
    tap.check("nearpmd forwards, hardened", good, pmd.output[-2000:])
    os.sched_setaffinity(0, {0})  # away from the CPUs that poll
    before = pmd.received(0)
    done, took, asked = moves(pmd)
    os.sched_setaffinity(0, range(os.cpu_count()))
    tap.check(f"{done} moves in {took:.0f} s", done == asked and done >= LEAST, pmd.output[-500:])
    frames = pmd.received(0) - before
    tap.check(f"{frames} frames came meanwhile", frames > done, frames)
    text = pmd.say("show page_pool 0 0", r"misuse \d+\n")
    tap.check("no page was misrouted, no two lcores polled at once", "misrouted 0, misuse 0" in text, text)
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])
