#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report runs every benchmark, says which one runs, and writes one page with a plot for each question
and the raw figures. Its figures are not looked at."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["NEARPOOL_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/tools"))
import tap  # noqa: E402

# move has figures where there are two nodes; where not, it prints the model.
BENCHMARKS = ("pool", "forward", "bulk", "throughput", "move", "connectx4")
PLOTS = ("Near: bulk sizes", "Near: working sets", "Far", "Cross-core", "The rule itself", "Peers: forwarding",
         "Bulk return sizes", "Throughput without loss", "Software ConnectX-4")


def main():
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("report", "it needs root and two CPUs")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "report")
        done = subprocess.run([sys.executable, SOURCE / "tests/perf/report_bench.py", "--quick", "--out", out],
                              capture_output=True, text=True, check=False, timeout=1500)
        tap.check("every benchmark runs", done.returncode == 0, done.stderr)
        said = re.findall(r"^\[(\d)/6\] +\d+ s +(\w+)$", done.stderr, re.M)
        tap.check("one line says which", said == [(str(n), name) for n, name in enumerate(BENCHMARKS, 1)], done.stderr)
        page = (out / "index.html").read_text(encoding="utf-8")
        shown = [title for title, text in re.findall(r"<h2>([^<]+)</h2>(.*?)(?=<h2>)", page, re.S) if "<svg" in text]
        tap.check("a plot for each question", shown == list(PLOTS), shown)
        tap.check("what each printed, the model too", all(f"<h2>{name}: what it printed" in page for name in BENCHMARKS)
                  and "model" in page)
        results = json.loads((out / "results.json").read_text(encoding="utf-8"))["results"]
        tap.check("the raw figures of each", list(results) == list(BENCHMARKS)
                  and all(results[name] for name in BENCHMARKS if name != "move"), {k: len(v) for k, v in results.items()})
    return tap.done()


sys.exit(main())
