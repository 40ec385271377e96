# SPDX-License-Identifier: BSD-3-Clause
"""A queue under load goes to a lcore of the other node and back, on the genuine mlx5 driver; where
it receives into goes with it. Switched off, it does not."""
import time

import nearpmd
import tap

# Pages that were out when the queue moved and that its ring can still show: the ring's own, a burst
# in the lcore's hands, and entries that the driver has consumed and refills only by 64.
IN_FLIGHT = 32 + 64
STAYS_SECONDS = 60
FEWEST_LOOKS = 4


def all_on(nodes, node):
    return set(nodes) == {node}


def move_and_look(pmd, port, lcore, node, enough=nearpmd.RXD + IN_FLIGHT):
    """@return (the ring's pages by node at the first look after `enough` frames, frames by then)"""
    moved = pmd.move(port, lcore)
    # Read after the move is done, so that frames counted from here are no more than there were.
    at_move = pmd.received(port)
    count = pmd.wait_for_frames(port, at_move + enough)
    nodes = pmd.ring(port).nodes()
    tap.check(f"port {port} goes to lcore {lcore} on node {node} under load", moved and count)
    return nodes, count - at_move


def stays(pmd, port, node, seconds):
    """How many looks there were, and the first that showed another node. On a slow machine a look
    takes long, so there are some however long they take."""
    looks = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end or looks < FEWEST_LOOKS:
        before = pmd.received(port)
        nodes = pmd.ring(port).nodes()
        looks += 1
        if not all_on(nodes, node):
            return looks, nodes
        if not pmd.wait_for_frames(port, before + nearpmd.RXD):
            return looks, "frames stopped"
    return looks, None


def there_and_back():
    pmd = nearpmd.Nearpmd()
    tap.check("nearpmd forwards between a port on each node", pmd.start(), pmd.output[-2000:])
    pmd.wait_for_frames(0, 4 * nearpmd.RXD)
    nodes = pmd.ring(0).nodes()
    tap.check("before: it receives into node 0 only", all_on(nodes, 0), nodes)
    tap.check("and the port on node 1 into node 1 only", all_on(pmd.ring(1).nodes(), 1))
    nodes, frames = move_and_look(pmd, 0, 2, 1)
    tap.check(f"all {nearpmd.RXD} pages are on node 1 after {frames} frames", all_on(nodes, 1), nodes)
    looks, wrong = stays(pmd, 0, 1, STAYS_SECONDS)
    tap.check(f"they stay there for {STAYS_SECONDS} s, {looks} looks", wrong is None, wrong)
    nodes, frames = move_and_look(pmd, 0, 1, 0)
    tap.check(f"back: all are on node 0 after {frames} frames", all_on(nodes, 0), nodes)
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])


def switched_off(option):
    """The same move. Frames are given four times as long, and the pages stay where they were."""
    pmd = nearpmd.Nearpmd([option])
    tap.check(f"{option}: nearpmd forwards", pmd.start(), pmd.output[-2000:])
    pmd.wait_for_frames(0, 4 * nearpmd.RXD)
    nodes, frames = move_and_look(pmd, 0, 2, 1, 4 * (nearpmd.RXD + IN_FLIGHT))
    tap.check(f"{option}: pages are still on node 0 after {frames} frames: {dict(nodes)}",
              nodes[0] > 0, nodes)
    tap.check(f"{option}: the books balance", pmd.balances(), pmd.output[-2000:])
    return nodes


def run():
    nearpmd.hugepages_on_both_nodes()
    there_and_back()
    nodes = switched_off("--no-node-follow")
    tap.check("without following, all of them", all_on(nodes, 0), nodes)
    nodes = switched_off("--no-foreign-reject")
    tap.check("without refusing, many of them", nodes[0] >= nearpmd.RXD // 4, nodes)
