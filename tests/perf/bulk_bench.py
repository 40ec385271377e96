#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bulk return: frames handed to another lcore, sent by a driver that frees one by one"""
import argparse
import sys

from forwarding import NEARPMD, eal, measure, rate, write

SIZES = (4, 8, 16, 32, 64)
EVENTS = ("cache-misses", "instructions")
PORTS = ("net_null0", "net_null1")  # net_null frees each frame of a burst by itself


def command(*more):
    return [str(NEARPMD), *eal("0@0,1@0,2@1", 128, PORTS), "--", "-i", "--no-flush-rx",
            "--forward-mode=redirect-cpu", *more]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    commands = {0: command("--no-bulk-return")}
    commands.update({size: command(f"--pool-bulk={size}") for size in SIZES})
    counted = {size: {} for size in commands}
    jobs = {size: lambda c=line, n=counted[size]: rate(c, len(PORTS), "TX", chosen.seconds,
                                                       EVENTS, n)
            for size, line in commands.items()}
    medians = measure(jobs, chosen.rounds, (0, 1))
    for size, mpps in medians.items():
        name = "off" if size == 0 else f"{size}"
        print(f"bulk return {name:>4}: {mpps:8.2f} Mpps, {mpps / medians[0]:.3f} times off"
              + "".join(f", {count:.2f} {event} a frame" for event, count in counted[size].items()))
    best = max(SIZES, key=medians.get)
    print(f"best size {best}: {medians[best] / medians[0]:.3f} times off (wanted: 1.19)")
    if not any(counted.values()):
        print("cache misses and instructions: unmeasured, this machine gives no counters")
    write(chosen.json, [{"scenario": "bulk", "ports": "net_null", "contender": "nearpmd",
                         "bulk_return": size, "mpps": round(mpps, 3)}
                        for size, mpps in medians.items()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
