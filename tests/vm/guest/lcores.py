# SPDX-License-Identifier: BSD-3-Clause
"""Memory follows whatever brings a queue to another node: a thread that floats, the rebalancer. And
frames that one node receives and the other sends go home to their own pool."""
import os
import re

import nearpmd
import rig
import tap


def thread_of(pid, lcore):
    """The thread of a lcore; DPDK names it."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as name:
            if name.read().strip() in (f"lcore-worker-{lcore}", f"rte-worker-{lcore}"):
                return int(task)
    return None


def follows(pmd, port, node):
    """Whether the port's ring comes to be on a node altogether, while frames go on."""
    def there():
        pmd.wait_for_frames(port, pmd.received(port) + nearpmd.RXD)
        return set(pmd.ring(port).nodes()) == {node}
    return rig.wait_until(there)


def floating_thread():
    pmd = nearpmd.Nearpmd(["--corelist=2,3"])
    tap.check("a lcore that may run on CPUs of both nodes polls", pmd.start(), pmd.output[-2000:])
    thread = thread_of(pmd.pid, 3)
    # Poll durations stand between the two lines once there are any.
    polled = r"lcore 3 .*\n(?: +(?:up to|single).*\n)* +port (\d) queue 0.*\n"
    shown = pmd.say("show rxq", polled)
    port = int(re.search(polled, shown).group(1))
    for cpu, node in [(3, 1), (1, 0), (3, 1)]:
        os.sched_setaffinity(thread, {cpu})
        tap.check(f"its thread goes to CPU {cpu}: all pages are on node {node}, without a command",
                  follows(pmd, port, node), pmd.ring(port).nodes())
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])


def rebalancing():
    """Both ports on lcore 1 of node 0; lcore 2 of node 1 is idle, so one has to go there."""
    pmd = nearpmd.Nearpmd(["--corelist=1,2"])
    tap.check("two ports forward", pmd.start(), pmd.output[-2000:])
    tap.check("both on one lcore", pmd.move(1, 1) and follows(pmd, 0, 0) and follows(pmd, 1, 0))
    for limit in ["threshold 1", "gain 1", "period 1"]:
        pmd.send(f"set rebalance {limit}")
    said = pmd.say("set rebalance on", r"rebalance: port \d queue 0 from lcore 1 to 2")
    moved = re.search(r"rebalance: port (\d) ", said)
    tap.check("the rebalancer moves one to the other node", moved,
              pmd.say("show rxq", r"lcore 3") + pmd.output[-1000:])
    pmd.send("set rebalance off")
    if moved:
        port = int(moved.group(1))
        tap.check("and its pages follow", follows(pmd, port, 1), pmd.ring(port).nodes())
        tap.check("those of the other stay", follows(pmd, 1 - port, 0), pmd.ring(1 - port).nodes())
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])


def redirect_across_nodes():
    """Each lcore receives on its node and hands frames to the lcore of the other node to send."""
    pmd = nearpmd.Nearpmd(["--corelist=1,2", "--forward-mode=redirect-cpu"])
    tap.check("lcores hand frames over to each other's node", pmd.start(), pmd.output[-2000:])
    for port, node in [(0, 0), (1, 1)]:
        pmd.wait_for_frames(port, pmd.received(port) + 8 * nearpmd.RXD)
        tap.check(f"port {port} goes on receiving into node {node} only",
                  set(pmd.ring(port).nodes()) == {node}, pmd.ring(port).nodes())
        text = pmd.say(f"show page_pool {port} 0", r"misuse \d+\n")
        tap.check(f"all that its pool owns is on node {node}",
                  re.search(rf"by node: {node}:\d+\n", text) and "misrouted 0" in text, text)
        ring = re.search(r"return: cached \d+, ring (\d+)", text)
        tap.check("pages came back from the lcore of the other node", ring and int(ring.group(1)) > 0,
                  text)
    sent = re.findall(r"handed over: received (\d+)", pmd.say("stop", r"(?s)port 1 .*device: .*\n"))
    tap.check("frames were handed over", sent and all(int(count) > 0 for count in sent), sent)
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])
    for node in (0, 1):
        arena = re.search(rf"arena node {node}: created (\d+), free (\d+)", pmd.output)
        pool = re.search(rf"pool p{node}q0: owned (\d+) .* inflight 0\n", pmd.output)
        tap.check(f"node {node}: created = free + owned by the pool that polls there",
                  arena and pool and int(arena[1]) == int(arena[2]) + int(pool[1]), pmd.output[-900:])


def run():
    nearpmd.hugepages_on_both_nodes()
    floating_thread()
    rebalancing()
    redirect_across_nodes()
