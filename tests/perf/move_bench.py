#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A queue that moves to the other node: rates near and far, where there are two nodes; and a model."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / part) for part in ("tests/vm/guest", "tests/connectx4")]
import nearpmd  # noqa: E402
import rig  # noqa: E402

NODES = Path("/sys/devices/system/node")
# What the pool does, in the model's words, and nearpmd's options for it.
VARIANTS = {"neither": ["--no-node-follow", "--no-foreign-reject"], "follow": ["--no-foreign-reject"],
            "reject": ["--no-node-follow"], "both": []}
VERDICTS = {"drop": ["--forward-mode=drop", "--touch=read-data"], "tx": ["--forward-mode=tx"]}
DESCRIPTORS = 1024
FRAMES = 64  # in the capture that is played in a circle


def numbers(text):
    """ "0-2,5" as [0, 1, 2, 5] """
    found = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def whole_nodes():
    """Nodes with memory and at least two CPUs, with their CPUs."""
    with_memory = numbers((NODES / "has_memory").read_text()) if NODES.exists() else []
    cpus = {node: numbers((NODES / f"node{node}/cpulist").read_text()) for node in with_memory}
    return {node: listed for node, listed in cpus.items() if len(listed) >= 2}


def write_capture(path):
    """UDP frames of 60 bytes, all alike."""
    frame = bytes.fromhex("020000000001020000000002") + b"\x08\x00" + bytes.fromhex(
        "4500002e00000000401100000a0000010a000002") + bytes(30)
    with open(path, "wb") as file:
        file.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
        for _ in range(FRAMES):
            file.write(bytes(8) + len(frame).to_bytes(4, "little") * 2 + frame)


class Machine:
    """Where things run: the port's node is near; the main lcore is on the other one."""

    def __init__(self, nodes, near):
        far = min(node for node in nodes if node != near)
        self.near, self.far = near, far
        device, near_cpu = nodes[near][:2]
        far_cpu, main = nodes[far][:2]
        self.device_cpu = device
        self.lcores = f"--lcores=0@{main},1@{near_cpu},2@{far_cpu}"


def program(machine, devices, capture, arguments):
    if devices:
        return nearpmd.Nearpmd(arguments, machine.lcores, ports=None, descriptors=DESCRIPTORS,
                               eal=[f"-a{device}" for device in devices])
    ports = ["--ports", "1", "--numa-node", str(machine.near), "--cpus", str(machine.device_cpu),
             "--wire", f"pcap:in={capture}:repeat=0"]
    return nearpmd.Nearpmd(arguments, machine.lcores, ports, descriptors=DESCRIPTORS)


def rate(pmd, lcore, seconds):
    """Mpps of port 0's queue on a lcore."""
    pmd.move(0, lcore)
    pmd.wait_for_frames(0, pmd.received(0) + 4 * DESCRIPTORS)  # the old ring has gone by
    began, first = time.monotonic(), pmd.received(0)
    time.sleep(seconds)
    last = pmd.received(0)
    return (last - first) / (time.monotonic() - began) / 1e6


def measure(machine, options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "frames.pcap"
        write_capture(capture)
        for verdict in options.verdicts or VERDICTS:
            for variant in options.pools or VARIANTS:
                arguments = ["--corelist=1,2", *VERDICTS[verdict], *VARIANTS[variant]]
                pmd = program(machine, options.devices, capture, arguments)
                if not pmd.ask("start", r"nearpmd> start\n") or pmd.received(0) < 0:
                    sys.exit(f"move_bench: nearpmd does not start:\n{pmd.output}")
                near = rate(pmd, 1, options.seconds)
                far = rate(pmd, 2, options.seconds)
                pages = pmd.say("show rxq", r"port 0 queue 0: .*pages on node.*\n")
                left = re.search(r"port 0 queue 0: .*\(([\d.]+)%\)", pages)
                pmd.finish("quit")
                rows.append({"verdict": verdict, "pool": variant, "near_mpps": near, "far_mpps": far,
                             "far_pages_percent": 100 - float(left.group(1)) if left else None})
    return rows


def print_rows(rows, machine, devices):
    print(f"MEASURED: Mpps of one core; port of node {machine.near}, moved to a core of node {machine.far};")
    print("  " + ("ports " + " ".join(devices) if devices else
                  "a software ConnectX-4, whose thread may be slower than the core that polls"))
    print(f"{'':6} {'pool does':9} {'near':>10} {'far':>10} {'far pages':>14}")
    for row in rows:
        print(f"{row['verdict']:6} {row['pool']:9} {row['near_mpps']:10.2f} {row['far_mpps']:10.2f} "
              f"{row['far_pages_percent'] or 0:13.0f}%")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=5, help="of each rate")
    parser.add_argument("-a", dest="devices", action="append", default=[], metavar="PCI_ADDRESS",
                        help="a real port, which others send to; the first one's queue moves. "
                        "None: a software ConnectX-4")
    parser.add_argument("--verdict", dest="verdicts", action="append", choices=VERDICTS)
    parser.add_argument("--pool", dest="pools", action="append", choices=VARIANTS,
                        help="which of following and refusing the pool does; all, if not said")
    options = parser.parse_args()
    nodes = whole_nodes()
    rows = []
    if len(nodes) < 2:
        print(f"This machine has {len(nodes)} NUMA node with memory and two CPUs or more: what is far "
              "cannot be measured here.\n", flush=True)
    else:
        near = min(nodes)
        if options.devices:
            place = Path(f"/sys/bus/pci/devices/{options.devices[0]}/numa_node").read_text()
            near = max(int(place), near)
        machine = Machine(nodes, near)
        rows = measure(machine, options)
        print_rows(rows, machine, options.devices)
    status = subprocess.run([str(rig.BUILD / "tests/model/move_model")], check=False).returncode
    if options.json:
        Path(options.json).write_text(json.dumps({"benchmark": "move", "measured": rows}, indent=1) + "\n")
    return status


sys.exit(main())
