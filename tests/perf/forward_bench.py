#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""forwarding: Debian's testpmd and nearpmd on a pair of net_null ports, in turn"""
import argparse
import sys

from forwarding import NEARPMD, PLUGIN, eal, measure, rate, write

PORTS = ("net_null0", "net_null1")
TESTPMD_MODES = {"redirect": "io", "tx": "macswap", "drop": "rxonly"}
SMALL = 8192  # buffers of a testpmd that is given few
TWO_LCORES = "0@0,1@0,2@1"  # two forward, each on a CPU of its own
TWO_CPUS = (0, 1)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--scenario", action="append",
                        choices=list(SCENARIOS))
    return parser.parse_args()


def nearpmd(mode, *more, lcores="0@0,1@1", megabytes=128, ports=PORTS):
    return [str(NEARPMD), *eal(lcores, megabytes, ports), "--", "-i", "--no-flush-rx",
            f"--forward-mode={mode}", *more]


def testpmd(mode, plugin, *more):
    loaded = ["-d", PLUGIN.name, "--mbuf-pool-ops-name=page_pool"] if plugin else []
    # Its answers go through a buffer that a pipe makes large.
    return ["stdbuf", "-oL", "dpdk-testpmd", *eal("0@0,1@1", 512, PORTS), *loaded, "--", "-i", "--no-flush-rx",
            f"--forward-mode={TESTPMD_MODES[mode]}", *more]


def one_lcore(mode):
    few = f"--total-num-mbufs={SMALL}"
    return {
        "testpmd": testpmd(mode, False),
        "testpmd, small pool": testpmd(mode, False, few),
        "testpmd+page_pool": testpmd(mode, True),
        "testpmd+page_pool, small pool": testpmd(mode, True, few),
        "nearpmd": nearpmd(mode),
        "nearpmd+ring_mp_mc": nearpmd(mode, "--pool-ops=ring_mp_mc"),
    }


def two_lcores(ports=PORTS):
    commands = {}
    for name, pages, megabytes in (("", 131071, 704), (", small pool", SMALL, 128)):
        size = f"--total-num-pages={pages}"
        commands[f"nearpmd{name}"] = nearpmd("redirect-cpu", size, lcores=TWO_LCORES, ports=ports)
        # Each queue has a mempool of so many, where the arena has so many pages for both; then half.
        for what, buffers in (("", pages), (", same total", pages // 2)):
            commands[f"nearpmd+ring_mp_mc{name}{what}"] = nearpmd(
                "redirect-cpu", f"--total-num-pages={buffers}", "--pool-ops=ring_mp_mc", lcores=TWO_LCORES,
                megabytes=megabytes, ports=ports)
    return commands


# In redirect-cpu each lcore receives on one port and sends what the other received; one way, one lcore
# takes all pages and the other brings all of them back.
SCENARIOS = {
    "redirect": lambda: one_lcore("redirect"),
    "tx": lambda: one_lcore("tx"),
    "drop": lambda: one_lcore("drop"),
    "redirect-cpu": two_lcores,
    "redirect-cpu-one-way": lambda: two_lcores(("net_null0", "net_null1,no-rx=1")),
}

RATIOS = [  # scenario, contender, over, at least; None: nobody asked for any
    ("redirect", "nearpmd", "testpmd", 1.05),
    ("tx", "nearpmd", "testpmd", 1.05),
    ("redirect", "testpmd+page_pool, small pool", "testpmd, small pool", 0.98),
    ("redirect", "testpmd+page_pool", "testpmd", 1.0),
    ("redirect-cpu", "nearpmd", "nearpmd+ring_mp_mc", 1.15),
    ("redirect-cpu", "nearpmd, small pool", "nearpmd+ring_mp_mc, small pool", 1.0),
    ("redirect-cpu", "nearpmd", "nearpmd+ring_mp_mc, same total", None),
    ("redirect-cpu", "nearpmd, small pool", "nearpmd+ring_mp_mc, small pool, same total", None),
    ("redirect-cpu-one-way", "nearpmd", "nearpmd+ring_mp_mc", None),
    ("redirect-cpu-one-way", "nearpmd, small pool", "nearpmd+ring_mp_mc, small pool", None),
    ("redirect-cpu-one-way", "nearpmd", "nearpmd+ring_mp_mc, same total", None),
    ("redirect-cpu-one-way", "nearpmd, small pool", "nearpmd+ring_mp_mc, small pool, same total", None),
]


def bulk_of(contender):
    """The default number of returns that are gathered: of a queue's pool, of a program's one pool."""
    if contender.startswith("nearpmd"):
        return 0 if "ring_mp_mc" in contender else 64
    return 32 if "page_pool" in contender else 0


def main():
    chosen = options()
    medians = {}
    for scenario in chosen.scenario or SCENARIOS:
        direction = "RX" if scenario == "drop" else "TX"
        jobs = {name: lambda c=command, d=direction: rate(c, len(PORTS), d, chosen.seconds)
                for name, command in SCENARIOS[scenario]().items()}
        medians[scenario] = measure(jobs, chosen.rounds, TWO_CPUS if "cpu" in scenario else None)
        for name, mpps in medians[scenario].items():
            print(f"{scenario:<20} {name:<42} {mpps:8.2f} Mpps")
    for scenario, contender, over, least in RATIOS:
        if scenario in medians:
            ratio = medians[scenario][contender] / medians[scenario][over]
            print(f"{scenario}: {contender} over {over}: {ratio:.3f}" + (f" (wanted: {least})" if least else ""))
    write(chosen.json, [{"scenario": scenario, "ports": "net_null", "contender": name,
                         "bulk_return": bulk_of(name), "mpps": round(mpps, 3)}
                        for scenario, values in medians.items() for name, mpps in values.items()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
