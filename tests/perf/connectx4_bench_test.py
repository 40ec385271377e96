#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark of the software ConnectX-4 still runs, and writes what is promised. How fast is not looked at."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["NEARPOOL_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import tap  # noqa: E402

FIGURES = ("mpps", "best_mpps", "core_ns", "device_ns", "device_best_ns", "device_busy")


def main():
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("benchmark", "it needs root for tap interfaces, and two CPUs")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "connectx4.json")
        done = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "tests", "perf", "connectx4_bench.py"), "--rounds", "1",
             "--seconds", "0.2", "--json", path], capture_output=True, text=True, timeout=100, check=False,
            env=dict(os.environ, CONNECTX4_BASE=os.path.join(directory, "base")))
        tap.check("the benchmark ends well", done.returncode == 0, done.stdout + done.stderr)
        try:
            with open(path, encoding="utf-8") as file:
                results = json.load(file)["results"]
        except (OSError, ValueError) as error:
            results = [{"error": str(error)}]
    tap.check("one result", len(results) == 1, results)
    tap.check("each figure is a positive number", all(isinstance(results[0].get(name), float) and
                                                      results[0][name] > 0 for name in FIGURES), results)
    tap.check("the core's time and the device's are told side by side",
              "time a frame: PMD core" in done.stdout and ", device " in done.stdout, done.stdout)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
