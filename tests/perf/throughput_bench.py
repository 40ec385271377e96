#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""throughput: RFC 2544's rate without loss of nearpmd by frame size, with Pktgen or testpmd"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rfc2544
from forwarding import BUILD, NEARPMD, ROOT, Program, write

CONNECTX4 = BUILD / "drivers/connectx4/launcher/connectx4"
WIRE = "software ConnectX-4, shared memory"
# What testpmd does, by what nearpmd does. flowgen sends on both ports and takes in what comes back;
# txonly does not look at what comes back, so there what nearpmd took in is counted.
TRAFFIC = {"redirect": "flowgen", "tx": "flowgen", "drop": "txonly"}
CRC = 4
GAP = 20  # preamble, start and gap between frames, bytes
DRAIN = 10  # seconds at most for what is still under way when sending ends


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/bench.sh throughput", description=__doc__,
        epilog="Without --ports nearpmd and the generator are connected by two software ConnectX-4 "
               "cables in shared memory; rates are then those of this software on this machine.")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--size", type=int, action="append", choices=range(64, 1519), metavar="64..1518",
                        help="frame size with CRC, may be repeated; RFC 2544's seven if not given")
    parser.add_argument("--verdict", choices=sorted(TRAFFIC), default="redirect")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a trial; 60 in RFC 2544")
    parser.add_argument("--resolution", type=float, default=2.0, help="percent of the highest rate")
    parser.add_argument("--generator", choices=["auto", "pktgen", "testpmd"], default="auto",
                        help="auto: Pktgen if it is installed")
    parser.add_argument("--ports", nargs=2, metavar="PCI", help="real ports of the generator, cabled "
                        "to those of nearpmd, which runs elsewhere and forwards; needs Pktgen")
    parser.add_argument("--lcores", default="0,1", help="lcores of the generator")
    parser.add_argument("--dut-lcores", default="0@0,1@1", help="lcores of nearpmd, first the main one")
    return parser.parse_args()


def start_time_arguments(name):
    return ["--in-memory", "-m", "128", "--no-telemetry", f"--file-prefix=nearpool-{name}-{os.getpid()}"]


def cabled(rate=None):
    """The launcher for one end of the two cables."""
    command = [str(CONNECTX4), "--netns", "--ports", "2"]
    for port in (0, 1):
        command += ["--wire", f"{port}=shm:bench{os.getpid()}-{port}"]
    return command + (["--rate", f"{rate / 1e6:.6f}Mpps"] if rate else []) + ["--"]


class Device:
    """nearpmd, the device under test."""

    def __init__(self, chosen):
        self.program = Program(cabled() + [
            str(NEARPMD), "--lcores", chosen.dut_lcores, *start_time_arguments("dut"), "--", "-i",
            "--no-flush-rx", f"--forward-mode={chosen.verdict}"])
        self.program.ask("start", "nearpmd> start")

    def received(self):
        return counts(self.program, "RX")

    def close(self):
        self.program.close()


def counts(program, direction):
    """Frames of both ports."""
    found, _ = program.ask("show port stats all", direction + r"-packets:?\s+(\d+)", 2)
    return sum(map(int, found[:2]))


def settled(read, wanted):
    """The count when it is as wanted, or has not grown for a while."""
    end = time.monotonic() + DRAIN
    last, since = read(), time.monotonic()
    while last < wanted and time.monotonic() < end and time.monotonic() - since < 0.5:
        now = read()
        if now != last:
            last, since = now, time.monotonic()
    return last


def trial(chosen, device, size, rate):
    """(sent, received, seconds) with testpmd, at that rate of each port, or unlimited."""
    traffic = TRAFFIC[chosen.verdict]
    before = device.received()
    generator = Program(cabled(rate and rate / 2) + [
        "stdbuf", "-oL", "dpdk-testpmd", "-l", chosen.lcores, *start_time_arguments("gen"), "--", "-i",
        "--nb-cores=1", "--total-num-mbufs=8192", "--rxd=2048", "--no-lsc-interrupt"])
    try:
        generator.ask(f"set fwd {traffic}", f"Set {traffic} packet forwarding mode")
        generator.ask(f"set txpkts {size - CRC}", "testpmd> ")
        begin = time.monotonic()
        generator.ask("start", "packet forwarding - ")
        time.sleep(chosen.seconds)  # the length of a trial
        generator.ask("stop", r"Done\.")
        seconds = time.monotonic() - begin
        sent = counts(generator, "TX")
        if traffic == "txonly":
            return sent, settled(device.received, before + sent) - before, seconds
        # What is still on its way arrives now.
        generator.ask("set fwd rxonly", "Set rxonly packet forwarding mode")
        generator.ask("start", "packet forwarding - ")
        return sent, settled(lambda: counts(generator, "RX"), sent), seconds
    finally:
        generator.close()


def search_with_testpmd(chosen, size):
    """Result of one frame size."""
    device = Device(chosen)
    try:
        sent, received, seconds = trial(chosen, device, size, None)
        most = sent / seconds
        print(f"# {size} bytes: offered {most / 1e6:.3f} Mpps at most, {sent - received} of {sent} lost",
              flush=True)
        best = {0.0: 0.0}  # rate aimed at to the one there was

        def at(rate):
            if rate == most:
                return sent, received
            out, back, took = trial(chosen, device, size, rate)
            best[rate] = out / took
            print(f"# {size} bytes: {out / took / 1e6:.3f} Mpps, {out - back} of {out} lost", flush=True)
            return out, back

        best[most] = most
        rate, trials = rfc2544.search(at, most, chosen.resolution / 100)
        return best[rate], trials, most
    finally:
        device.close()


def testpmd_results(chosen, sizes):
    results = []
    for size in sizes:
        rate, trials, most = search_with_testpmd(chosen, size)
        results.append({"scenario": "throughput", "verdict": chosen.verdict, "bytes": size,
                        "mpps": round(rate / 1e6, 4), "offered_mpps": round(most / 1e6, 4),
                        "mbps": round(rate * (size + GAP) * 8 / 1e6, 1), "trials": trials,
                        "generator": f"testpmd {TRAFFIC[chosen.verdict]}", "wire": WIRE})
        print(f"throughput {size:5} bytes: {rate / 1e6:9.3f} Mpps, {rate * (size + GAP) * 8 / 1e9:7.3f} Gb/s "
              f"on a wire, {trials} trials", flush=True)
    return results


def pktgen_results(chosen, pktgen):
    """The search is config/pktgen/throughput.lua's own; this starts it and reads what it found."""
    device = None
    command, where = [], f"ports {chosen.ports}"
    ports = [word for port in chosen.ports or [] for word in ("-a", port)]
    if not chosen.ports:
        device, command, where = Device(chosen), cabled(), WIRE
    cores = [int(word.split("@")[0]) for word in chosen.lcores.split(",")]
    if len(cores) < 2:
        sys.exit("throughput: Pktgen needs a lcore for its screen and one for the ports: --lcores 0,1")
    places = ",".join(f"{cores[1 + port % (len(cores) - 1)]}.{port}" for port in (0, 1))
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory, "result")
        environment = dict(os.environ, NEARPOOL_PKTGEN=str(ROOT / "config/pktgen"), RESULT=str(result),
                           SECONDS_PER_TRIAL=str(chosen.seconds), RESOLUTION=str(chosen.resolution))
        try:
            subprocess.run(command + [pktgen, "-l", chosen.lcores, *start_time_arguments("gen"), *ports,
                                      "--", "-m", places, "-f", str(ROOT / "config/pktgen/throughput.lua")],
                           env=environment, check=True, stdin=subprocess.DEVNULL)
            lines = result.read_text(encoding="ascii").split("\n")
        finally:
            if device:
                device.close()
    return [{"scenario": "throughput", "verdict": chosen.verdict, "bytes": int(size),
             "mpps": round(float(rate) / 1e6, 4), "percent": float(percent), "generator": "pktgen",
             "mbps": round(float(rate) * (int(size) + GAP) * 8 / 1e6, 1), "wire": where}
            for size, percent, rate in (line.split() for line in lines if line)]


def main():
    chosen = options()
    pktgen = shutil.which("pktgen") if chosen.generator != "testpmd" else None
    if chosen.generator == "pktgen" and not pktgen:
        sys.exit("throughput: there is no program pktgen: build Pktgen-DPDK 23.03 or 23.06 (not in "
                 "Debian), or use --generator testpmd")
    if chosen.ports and not pktgen:
        sys.exit("throughput: testpmd sends on real ports as fast as they go and at no other rate, so "
                 "the search needs Pktgen; leave --ports out for the software ConnectX-4")
    results = pktgen_results(chosen, pktgen) if pktgen \
        else testpmd_results(chosen, chosen.size or rfc2544.SIZES)
    write(chosen.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
