#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""software ConnectX-4: 64-byte frames between two ports, testpmd on one lcore, the device on another CPU"""
import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from forwarding import BUILD, Distance, Program, write

LAUNCHER = BUILD / "drivers/connectx4/launcher/connectx4"
WANTED = 10.0  # Mpps
# Few enough that rings never overflow, since testpmd drops what does not fit and the loop runs dry.
FIRST_BURSTS = 4
PORTS = 2
CPUS = (0, 1)  # of the device and of the PMD's lcore
REPORT = re.compile(r"ns_per_frame=([\d.]+) best_ns_per_frame=([\d.]+) busy=([\d.]+)")
CYCLES = re.compile(r"CPU cycles/packet=([\d.]+) .* at (\d+) MHz", re.DOTALL)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("testpmd", nargs="*", help="more options of testpmd, behind --")
    return parser.parse_args()


def run(chosen, report):
    """Rate, and nanoseconds a frame: of the lcore, of the device, of the device's best stretch."""
    program = Program(
        [str(LAUNCHER), "--netns", "--ports", str(PORTS), "--lossless", "on", "--report", report, "--",
         "stdbuf", "-oL", "dpdk-testpmd", "-l", "0,1", "--in-memory", "-m", "256", "--no-telemetry",
         f"--file-prefix=nearpool-bench-{os.getpid()}", "--", "-i", "--nb-cores=1", "--burst=64",
         "--rxd=1024", "--txd=1024", "--total-num-mbufs=16384", "--record-core-cycles", *chosen.testpmd])
    try:
        program.ask(f"start tx_first {FIRST_BURSTS}", "packets/burst=64")
        time.sleep(0.3)  # the stack of frames spreads, caches get warm
        before, begin = program.ask("show port stats all", r"RX-packets:\s+(\d+)", PORTS)
        time.sleep(chosen.seconds)
        after, end = program.ask("show port stats all", r"RX-packets:\s+(\d+)", PORTS)
        cycles, _ = program.ask("stop", CYCLES.pattern)
    finally:
        program.close()
    frames = sum(map(int, after)) - sum(map(int, before))
    device, best, busy = map(float, REPORT.findall(Path(report).read_text(encoding="ascii"))[-1])
    return {"mpps": frames / (end - begin) / 1e6,
            "core_ns": float(cycles[0][0]) * 1000 / float(cycles[0][1]),
            "device_ns": device, "device_best_ns": best, "device_busy": busy}


def main():
    chosen = options()
    rounds = []
    farthest = []
    distance = Distance(CPUS)
    with tempfile.TemporaryDirectory() as directory:
        for number in range(chosen.rounds):
            figures, apart = distance.measure(lambda: run(chosen, f"{directory}/report"))
            rounds.append(figures)
            farthest.append(apart)
            print(f"# round {number + 1}: " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
                  + f", CPUs {apart:.0f} ns apart", flush=True)
    print(distance.summary(farthest))
    median = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    best = max(one["mpps"] for one in rounds)
    print(f"64-byte frames, two ports, one lcore: {median['mpps']:.2f} Mpps, best round {best:.2f} "
          f"(wanted: {WANTED:g})")
    print(f"time a frame: PMD core {median['core_ns']:.1f} ns, device {median['device_ns']:.1f} ns (its best "
          f"65,536 in a row: {median['device_best_ns']:.1f}); device busy {100 * median['device_busy']:.0f}%")
    write(chosen.json, [{"scenario": "connectx4", "ports": "software ConnectX-4, mlx5", "contender": "testpmd io",
                         "frame_bytes": 64, "best_mpps": round(best, 3),
                         **{name: round(value, 3) for name, value in median.items()}}])
    return 0


if __name__ == "__main__":
    sys.exit(main())
