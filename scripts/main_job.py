#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The main job, told step by step: nearpmd on two software ConnectX-4 ports, a queue that moves to the
other node under traffic, its pool that follows, and the books. Started by run.sh."""
import argparse
import os
import re
import sys
import time
from pathlib import Path

import at_prompt

DEADLINE = 60  # seconds
ENOUGH_RETURNS = 50_000  # pages, to show how they come back
FIRST_BURSTS = 4  # of 32 frames from each of the two TX queues of a port: the rings have room for them
# mlx5 asks for a completion with every 32nd frame it sends, so the last ones of a queue that sends no
# more stay in its ring. A step later this queue sends again.
MOST_FOREIGN = 31
POOL = (r"^pool (?P<name>p\d+q\d+) .*?: node (?P<node>\d+).*?, (?P<mode>strict|relaxed)"
        r".*?owned (?P<owned>\d+) = cached (?P<cached>\d+) \+ stashed (?P<stashed>\d+) \+ ringed (?P<ringed>\d+) \+"
        r" inflight (?P<inflight>\d+).*?local [\d.]+%: (?P<local>\d+) of"
        r".*?return: cached \d+, ring (?P<ring>\d+),.*?bulk calls (?P<bulk>\d+), single calls (?P<single>\d+)"
        r".*?foreign refused (?P<refused>\d+).*?nid updates (?P<updates>\d+), flushed (?P<flushed>\d+).*?misuse \d+$")
ARENA_NODE = r"^node \d+[^\n:]*: (\d+) pages, (\d+) free"


class ClaimError(Exception):
    """What this job is to show did not happen."""


def title(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def say(text):
    print(f"  {text}", flush=True)


def count(number):
    return f"{number:,}"


# --- the machine ---------------------------------------------------------------------------------

def cpu_list(text):
    cpus = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def nodes_of_machine():
    """Nodes that have memory, and CPUs we may use: {node: [CPU...]}."""
    allowed, nodes = os.sched_getaffinity(0), {}
    for directory in sorted(Path("/sys/devices/system/node").glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        try:
            cpus = sorted(cpu_list((directory / "cpulist").read_text()) & allowed)
            memory = int(re.search(r"MemTotal:\s+(\d+)", (directory / "meminfo").read_text()).group(1))
        except (OSError, AttributeError):
            continue
        if cpus and memory:
            nodes[int(directory.name[4:])] = cpus
    return nodes or {0: sorted(allowed)}


class Place:
    """The CPUs of the main lcore 0 and of the forwarding lcores 1 and 2, which are on two nodes."""

    def __init__(self):
        nodes = nodes_of_machine()
        self.emulated = len(nodes) == 1
        self.port_node, first = next(iter(nodes.items()))
        if self.emulated:
            self.nodes = (0, 1)
            cpus = (first[0], first[1 % len(first)], first[2 % len(first)])
        else:
            (_, first), (other, second) = list(nodes.items())[:2]
            self.nodes = (self.port_node, other)
            cpus = (first[0], first[1 % len(first)], second[0])
        self.lcores = ",".join(f"{lcore}@{cpu}" for lcore, cpu in enumerate(cpus))
        self.crowded = len(os.sched_getaffinity(0)) < 4  # three lcores and a device thread

    def node(self, node):
        return f"node {node}" + (" (emulated)" if self.emulated else "")


# --- what nearpmd says ---------------------------------------------------------------------------

def pool(program, port):
    fields = program.ask(f"show page_pool {port} 0", POOL).groupdict()
    return {name: value if name in ("name", "mode") else int(value) for name, value in fields.items()}


def forwarded(program):
    match = program.ask("show port stats all", r"^port 0: .*?TX-packets (\d+).*?^port 1: .*?TX-packets (\d+)[^\n]*\n")
    return [int(number) for number in match.groups()]


def show_rates(program, seconds):
    before, begin = forwarded(program), time.monotonic()
    for _ in range(seconds):
        time.sleep(1)
        after, end = forwarded(program), time.monotonic()
        rates = [(new - old) / (end - begin) / 1e6 for new, old in zip(after, before)]
        say(f"{sum(rates):6.2f} million frames a second: {rates[0]:.2f} out of port 0, {rates[1]:.2f} out of port 1")
        if min(rates) <= 0:
            raise ClaimError("no frames go round")
        before, begin = after, end


# --- the steps -----------------------------------------------------------------------------------

def show_start(program, place):
    program.ask("show numa", r"^port 1: node.*?\n")
    ports = program.ask("show port summary", r"^0 +(\S+ +\S+ +\S+ +\S+) .*?^1 +(\S+ +\S+ +\S+ +\S+) [^\n]*\n")
    for number, text in enumerate(ports.groups()):
        mac, device, driver, link = text.split()
        say(f"port {number}: {device}, {mac}, driver {driver}, link {link}")
    say(f"lcore 1 is on {place.node(place.nodes[0])} and polls both ports; lcore 2 is on {place.node(place.nodes[1])}")
    if place.emulated:
        say("This machine has one node: the second is emulated. All paths run; distances in memory are not real.")
    if place.crowded:
        say("Three lcores and the device's thread share few CPUs here: the rates say little.")


def show_move(program, place):
    before = pool(program, 0)
    begin = time.monotonic()
    program.ask("move rxq 0 0 lcore 2", r"port 0 queue 0: lcore 1 -> 2")
    say(f"{'':>12}  its node   pages owned   of these there   elsewhere   mode")

    def row(when, now):
        say(f"{when:>12}  {now['node']:8}   {count(now['owned']):>11}   {count(now['local']):>14}   "
            f"{count(now['owned'] - now['local']):>9}   {now['mode']}")

    row("before", before)
    shown, now = None, None
    while time.monotonic() < begin + DEADLINE:
        now = pool(program, 0)
        foreign = now["owned"] - now["local"] if now["node"] == place.nodes[1] else None
        if foreign is not None and (shown is None or foreign <= shown // 2):
            row(f"{(time.monotonic() - begin) * 1000:.0f} ms", now)
            shown = foreign
        if foreign is not None and foreign <= MOST_FOREIGN:
            break
        time.sleep(0.001)
    else:
        raise ClaimError(f"the pool has not followed its queue within {DEADLINE} s")
    refused, flushed = now["refused"] - before["refused"], now["flushed"] - before["flushed"]
    if refused == 0 or now["updates"] == before["updates"]:
        raise ClaimError("the pool has refused no page of the node it left")
    say(f"{count(refused)} pages of {place.node(place.nodes[0])} were refused and went home: {count(flushed)} that waited")
    say("in the pool when the node changed, the others as they came back from RX and TX rings.")
    if now["owned"] != now["local"]:
        say(f"{now['owned'] - now['local']} are still out, in the idle TX ring of lcore 1: mlx5 completes 32 sends at a time.")


def show_bulk(program):
    program.ask("stop", r"^port 1 .*?device: [^\n]*\n")
    program.ask("set fwd redirect-cpu", r"set fwd redirect-cpu")
    before = [pool(program, port) for port in (0, 1)]
    program.ask(f"start tx_first {FIRST_BURSTS}", r"^port 1: \d+ frames sent first")
    deadline = time.monotonic() + DEADLINE
    for port, old in enumerate(before):
        now = pool(program, port)
        while now["ring"] < old["ring"] + ENOUGH_RETURNS and time.monotonic() < deadline:
            time.sleep(0.1)
            now = pool(program, port)
        pages, calls, single = (now[name] - old[name] for name in ("ring", "bulk", "single"))
        if pages < ENOUGH_RETURNS or pages < 2 * calls:
            raise ClaimError(f"pool {now['name']} got {pages} pages back in {calls} calls: that is not in bulk")
        say(f"pool {now['name']}: {count(pages)} pages came back from the other lcore in {count(calls)} calls, "
            f"{pages / calls:.0f} a call; {count(single)} singly")
    program.ask("stop", r"^port 1 .*?device: [^\n]*\n")


def show_books(program, place):
    owned = 0
    for port in (0, 1):
        now = pool(program, port)
        owned += now["owned"]
        if now["owned"] != sum(now[name] for name in ("cached", "stashed", "ringed", "inflight")):
            raise ClaimError(f"the books of pool {now['name']} do not balance")
        parts = " + ".join(f"{name} {count(now[name])}" for name in ("cached", "stashed", "ringed", "inflight"))
        say(f"pool {now['name']} on {place.node(now['node'])}: owned {count(now['owned'])} = {parts}; "
            f"{count(now['owned'] - now['local'])} of another node")
        if now["owned"] != now["local"]:
            raise ClaimError(f"pool {now['name']} still owns pages of another node")
    numbers = program.ask("show page_arena", ARENA_NODE + ".*?" + ARENA_NODE).groups()
    created, free = (sum(map(int, numbers[at::2])) for at in (0, 1))
    say(f"arena: created {count(created)} = free {count(free)} + owned {count(owned)}")
    if created != free + owned:
        raise ClaimError("the books of the arena do not balance")


def tell(program, place):
    program.wait(r"nearpmd> |emulated by --numa-map")
    show_start(program, place)
    frames = 2 * 2 * 32 * FIRST_BURSTS
    title(f"2. Traffic: {frames} frames of 64 bytes go from port to port (start tx_first {FIRST_BURSTS})")
    program.ask(f"start tx_first {FIRST_BURSTS}", r"^port 1: \d+ frames sent first")
    show_rates(program, 2)
    title("3. The queue of port 0 moves to the other node, under this traffic (move rxq 0 0 lcore 2)")
    show_move(program, place)
    show_rates(program, 1)
    title("4. Now each frame is sent by the lcore that did not receive it (set fwd redirect-cpu)")
    show_bulk(program)
    title("5. The books, forwarding stopped: where every page is")
    show_books(program, place)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nearpmd", required=True)
    parser.add_argument("--connectx4", required=True)
    parser.add_argument("--no-huge", action="store_true", help="with ordinary pages")
    parser.add_argument("--memory", type=int, default=256, help="MiB")
    return parser.parse_args()


def command_line(options, place):
    memory = ["--in-memory"]
    pages = []
    if options.no_huge:
        memory = ["--no-huge", "--no-shconf"]  # the EAL refuses --in-memory then
        pages = ["--arena-no-huge"]
    return ([options.connectx4, "--netns", "--ports", "2", "--lossless", "on"] +
            ["--numa-node", str(place.port_node), "--"] +
            [options.nearpmd, f"--lcores={place.lcores}", *memory, "-m", str(options.memory)] +
            [f"--file-prefix=nearpmd-{os.getpid()}", "--", "-i", *pages] +
            (["--numa-map=1:0,2:1"] if place.emulated else []))


def main():
    options = arguments()
    place = Place()
    command = command_line(options, place)
    stay = sys.stdin.isatty() and sys.stdout.isatty()
    print("nearpmd, with a page pool per RX queue, on two ConnectX-4 ports below Debian's own mlx5 driver.\n"
          "The card is software (docs/connectx4.md), and was never compared with a real one.")
    title("1. Start")
    say("$ " + " ".join([Path(command[0]).name, *command[1:9], Path(command[9]).name, *command[10:]]))
    program = at_prompt.AtPrompt(command, stay)
    try:
        tell(program, place)
    except (at_prompt.GoneError, ClaimError, KeyboardInterrupt) as error:
        program.finish()
        if isinstance(error, KeyboardInterrupt):
            return 130
        print("\n".join(program.output.splitlines()[-25:]))
        print(f"run.sh: {error}; the last lines of nearpmd are above", file=sys.stderr)
        return 1
    if stay:
        print("\nnearpmd stays at its prompt: help lists its commands, quit ends it with its books.")
        return program.hand_over()
    title("6. quit: the ports are closed, nothing may be inflight")
    last, status = program.finish("quit")
    for line in last[last.find("-- books"):].splitlines()[1:]:
        say(line)
    return status


if __name__ == "__main__":
    sys.exit(main())
