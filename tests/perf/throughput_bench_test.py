#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The search for the rate without loss, one real run of it, and the report. Figures do not matter."""
import json
import os
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

SOURCE = Path(os.environ["NEARPOOL_SOURCE"])
sys.path[:0] = [str(SOURCE / "tests/tools"), str(SOURCE / "tests/perf")]
import rfc2544  # noqa: E402
import tap  # noqa: E402

PERF = SOURCE / "tests/perf"


def device(capacity):
    """Loses what is above its capacity."""
    tried = []

    def trial(rate):
        tried.append(rate)
        return int(rate), int(min(rate, capacity))
    return trial, tried


def search_is_right(capacity, most, resolution):
    trial, tried = device(capacity)
    rate, trials = rfc2544.search(trial, most, resolution)
    return rate <= capacity and (rate >= most or capacity - rate <= resolution * most + 1) \
        and trials == len(tried) and rate in [0.0, *tried]


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = {}

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1


def run(program, *arguments):
    return subprocess.run([sys.executable, str(PERF / program), *arguments], capture_output=True,
                          text=True, timeout=200, check=False)


def main():
    for capacity in (0, 1, 373000, 500000, 999999):
        tap.check(f"the search finds {capacity} of a million", search_is_right(capacity, 1e6, 0.01))
    trial, tried = device(2e6)
    tap.check("at the highest rate one trial is enough",
              rfc2544.search(trial, 1e6, 0.01) == (1e6, 1) and tried == [1e6])
    tap.check("what sends nothing has no rate", rfc2544.search(lambda rate: (0, 0), 1e6, 0.3)[0] == 0)
    done = run("throughput_bench.py", "--generator", "pktgen") if not os.environ.get("PKTGEN") else None
    tap.check("without Pktgen it says where to get it", done is None or
              (done.returncode == 1 and "build Pktgen-DPDK" in done.stderr), done and done.stderr)
    done = run("throughput_bench.py", "--ports", "0000:81:00.0", "0000:81:00.1")
    tap.check("real ports want Pktgen", done.returncode == 1 and "needs Pktgen" in done.stderr, done.stderr)
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("a real run", "it needs root and two CPUs")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "drop.json")
        done = run("throughput_bench.py", "--generator", "testpmd", "--verdict", "drop", "--size", "512",
                   "--seconds", "0.2", "--resolution", "60", "--json", str(path))
        tap.check("a search of the drop rate ends", done.returncode == 0, done.stdout + done.stderr)
        results = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
        tap.check("with a figure for its size", [entry["bytes"] for entry in results] == [512] and
                  results[0]["offered_mpps"] > 0 and results[0]["trials"] >= 1, str(results))
        out = Path(directory, "report")
        done = run("report_bench.py", "--quick", "--only", "pool", "--only", "throughput", "--only",
                   "connectx4", "--out", str(out))
        tap.check("a quick report is written", done.returncode == 0, done.stdout + done.stderr)
        tap.check("with a line of progress", "[1/3]" in done.stderr and "[3/3]" in done.stderr, done.stderr)
        page = Page()
        page.feed((out / "index.html").read_text(encoding="utf-8") if out.exists() else "")
        tap.check("it has a plot of all that was measured", page.tags.get("svg", 0) == 7 and
                  page.tags.get("rect", 0) > 50, str(page.tags))
        raw = json.loads((out / "results.json").read_text(encoding="utf-8")) if out.exists() else {}
        tap.check("and the raw figures", len(raw.get("results", {}).get("pool", [])) == 79, str(raw)[:300])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
