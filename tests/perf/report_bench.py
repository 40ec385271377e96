#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report: runs all benchmarks and writes one HTML page with plots, and the raw JSON"""
import argparse
import datetime
import html
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import svg
from forwarding import BUILD, ROOT

PERF = ROOT / "tests/perf"
# name, command without --json, and what a quick look adds.
BENCHMARKS = {
    "pool": ([str(BUILD / "tests/perf/pool_bench")], ["--rounds", "1", "--seconds", "0.05"]),
    "forward": ([sys.executable, str(PERF / "forward_bench.py")], ["--rounds", "1", "--seconds", "0.1"]),
    "bulk": ([sys.executable, str(PERF / "bulk_bench.py")], ["--rounds", "1", "--seconds", "0.1"]),
    "throughput": ([sys.executable, str(PERF / "throughput_bench.py")],
                   ["--size", "64", "--seconds", "0.3", "--resolution", "50"]),
    "move": ([sys.executable, str(PERF / "move_bench.py")], ["--seconds", "0.2"]),
    "connectx4": ([sys.executable, str(PERF / "connectx4_bench.py")], ["--rounds", "1", "--seconds", "0.3"]),
}
STYLE = """body{font:15px/1.45 sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#222}
svg text{font:12px sans-serif}svg .figure{fill:#555}h2{margin-top:2em}.legend{margin:.3em 0;font-size:13px}
pre{overflow:auto;background:#f4f4f4;padding:.8em;font-size:12px}.missing{color:#b03a2e}"""


def options():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh report", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-report"), help="directory to write to")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="to see that it works; figures mean nothing")
    return parser.parse_args()


class Progress:
    """One line that says what runs: redrawn on a terminal, printed once each when piped."""

    def __init__(self, count):
        self.count, self.number, self.begin = count, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def say(self, text):
        line = f"[{self.number}/{self.count}] {time.monotonic() - self.begin:4.0f} s  {text}"
        print(f"\r\033[K{line[:100]}" if self.terminal else line, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print(file=sys.stderr)


def run(name, quick, progress):
    """(results, everything it printed, whether it went well)"""
    command, less = BENCHMARKS[name]
    progress.number += 1
    progress.say(name)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "results.json")
        process = subprocess.Popen([*command, *(less if quick else []), "--json", str(path)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = []
        for line in process.stdout:
            said.append(line)
            if progress.terminal:
                progress.say(f"{name}: {line.strip()}")
        process.wait()
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            results = document["results"] if "results" in document else document["measured"]
        except (OSError, ValueError, KeyError):
            results = []
    return results, "".join(said), process.returncode == 0


def grouped(results, group, name, value):
    groups = {}
    for entry in results:
        groups.setdefault(group(entry), {})[name(entry)] = entry[value]
    return groups


def who(entry):
    """page_pool in its two modes is two contenders."""
    mode = {"relaxed": " near", "strict": " far"}.get(entry.get("mode", ""), "")
    return entry["contender"] + (mode if entry["contender"] == "page_pool" else "")


def plots(results):
    """(title, what it shows, SVG) of what there are figures for."""
    pool, forward = results.get("pool", []), results.get("forward", [])
    cycles = "cycles per page, fewer is better"
    one = [e for e in pool if e["scenario"] == "one_core"]
    yield "Near: bulk sizes", ("One lcore takes and returns pages of its own node, 64 out at a time. "
        "Peers are DPDK's mempools."), [e for e in one if e["set"] == 64 and e["mode"] != "strict"], \
        lambda part: svg.bars(grouped(part, lambda e: f"bulk {e['bulk']}", who, "cycles_per_page"), cycles)
    yield "Near: working sets", "The same in bulks of 32, with 64 and 1,024 pages out at a time.", \
        [e for e in one if e["bulk"] == 32 and e["mode"] != "strict"], \
        lambda part: svg.bars(grouped(part, lambda e: f"{e['set']} pages out", who, "cycles_per_page"), cycles)
    yield "Far", ("Near: no page is foreign. Far: while foreign pages are out and each return is checked. "
        "Nodes are emulated, so this is the cost of the rule and not of far memory."), \
        [e for e in one if e["contender"] == "page_pool"], \
        lambda part: svg.bars(grouped(part, lambda e: f"bulk {e['bulk']}, {e['set']} out", who,
                                      "cycles_per_page"), cycles)
    yield "Cross-core", "One lcore takes pages, another returns them; by the pages the pool was made with.", \
        [e for e in pool if e["scenario"] == "two_lcores"], \
        lambda part: svg.bars(grouped(part, lambda e: f"pool of {e['set']}", lambda e: e["contender"],
                                      "cycles_per_page"), cycles)
    yield "The rule itself", "The pool as it is, and built without the keep rule.", \
        [e for e in pool if e["scenario"] == "keep_rule_off"], \
        lambda part: svg.bars(grouped(part, lambda e: f"bulk {e['bulk']}, {e['set']} out",
                                      lambda e: e["contender"], "cycles_per_page"), cycles)
    yield "Peers: forwarding", "Programs and mempools between two net_null ports, by what they do with frames.", \
        forward, lambda part: svg.bars(grouped(part, lambda e: e["scenario"], lambda e: e["contender"], "mpps"),
                                       "Mpps of one lcore's own time, more is better")
    yield "Bulk return sizes", "Frames handed to another lcore and freed there; off: one by one.", \
        results.get("bulk", []), lambda part: svg.bars(
            grouped(part, lambda e: "off" if e["bulk_return"] == 0 else f"bulk {e['bulk_return']}",
                    lambda e: "nearpmd", "mpps"), "Mpps, more is better")
    yield "Throughput without loss", "RFC 2544's search with nearpmd between two ports.", \
        results.get("throughput", []), lambda part: svg.bars(
            grouped(part, lambda e: f"{e['bytes']} bytes", lambda e: f"{e['generator']}, {e['wire']}", "mpps"),
            "Mpps, more is better")
    yield "Software ConnectX-4", "testpmd between two of its ports; the lcore's and the device's time per frame.", \
        results.get("connectx4", []), lambda part: svg.bars(
            {"PMD core": {"ns per frame": part[0]["core_ns"]},
             "device, all frames": {"ns per frame": part[0]["device_ns"]},
             "device, best stretch": {"ns per frame": part[0]["device_best_ns"]}}, "ns, fewer is better")


def machine():
    model = [line.split(":", 1)[1].strip() for line in
             Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    load = os.getloadavg()[0]
    return (f"{model[0] if model else platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, Linux "
            f"{platform.release()}, load {load:.1f} when it began")


def page(results, outputs, chosen, about):
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>nearpool benchmarks</title>"
             f"<style>{STYLE}</style><h1>nearpool benchmarks</h1>"
             f"<p>{html.escape(about)}</p><p>Two nodes are emulated, ports are virtual. Nothing here ran on "
             "a real ConnectX-4 or on two sockets.</p>"]
    if chosen.quick:
        parts.append('<p class="missing">A quick look: the figures mean nothing.</p>')
    for title, text, part, draw in plots(results):
        parts.append(f"<h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>")
        parts.append(draw(part) if part else '<p class="missing">not measured</p>')
    for name, output in outputs.items():
        parts.append(f"<h2>{name}: what it printed</h2><details><summary>show</summary>"
                     f"<pre>{html.escape(output)}</pre></details>")
    parts.append("<h2>Raw figures</h2><details><summary>show (also in results.json)</summary><pre>"
                 f"{html.escape(json.dumps(results, indent=1))}</pre></details></html>")
    return "\n".join(parts)


def main():
    chosen = options()
    names = chosen.only or list(BENCHMARKS)
    about = f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {machine()}"
    progress = Progress(len(names))
    results, outputs, failed = {}, {}, []
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        results[name], outputs[name], well = run(name, chosen.quick, progress)
        if not well:
            failed.append(name)
    progress.end()
    (chosen.out / "results.json").write_text(
        json.dumps({"about": about, "results": results}, indent=1) + "\n", encoding="utf-8")
    (chosen.out / "index.html").write_text(page(results, outputs, chosen, about), encoding="utf-8")
    print(chosen.out / "index.html")
    for name in failed:
        print(f"report: benchmark {name} failed; its last line: {outputs[name].strip().splitlines()[-1:]}",
              file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
