#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pool benchmark still runs, and writes what is promised. Its figures are not looked at."""

import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["NEARPOOL_SOURCE"], "tests", "tools"))
import tap  # noqa: E402

BENCH = os.path.join(os.environ["NEARPOOL_BUILD"], "tests", "perf", "pool_bench")
OTHERS = ("ring_mp_mc", "stack", "lf_stack", "bucket")
KEYS = {"scenario", "mode", "bulk", "set", "contender", "cycles_per_page"}


def expected():
    for bulk, size in itertools.product((1, 4, 32, 64), (64, 1024)):
        for mode in ("relaxed", "strict"):
            yield "one_core", mode, bulk, size, "page_pool"
        for other in OTHERS:
            yield "one_core", "", bulk, size, other
        for contender in ("page_pool", "page_pool_norule"):
            yield "keep_rule_off", "relaxed", bulk, size, contender
    for pages in (2047, 8191, 131071):
        yield "two_lcores", "relaxed", 32, pages, "page_pool"
        for other in OTHERS:
            yield "two_lcores", "", 32, pages, other


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=110)


def main():
    if len(os.sched_getaffinity(0)) < 2:
        tap.skip("benchmark", "it needs two CPUs")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "pool.json")
        done = run("--rounds", "1", "--seconds", "0.01", "--json", path)
        tap.check("the benchmark ends well", done.returncode == 0, done.stdout + done.stderr)
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError) as error:
            document = {"results": [], "error": str(error)}
    tap.check("results and nothing else", set(document) == {"results"}, document.get("error"))
    results = document["results"]
    tap.check("each has the promised keys", results and all(set(r) == KEYS for r in results),
              results)
    got = [(r["scenario"], r["mode"], r["bulk"], r["set"], r["contender"]) for r in results]
    tap.check("each cell is there once", sorted(got) == sorted(expected()),
              sorted(set(got) ^ set(expected())))
    tap.check("each figure is a positive number", results and
              all(isinstance(r["cycles_per_page"], float) and r["cycles_per_page"] > 0
                  for r in results), results)
    tap.check("the table has the ratios", "relaxed/ring" in done.stdout, done.stdout)

    done = run("--rounds", "1", "--seconds", "0.001", "--scenario", "keep_rule_off", "--norule",
               "/nonexistent.so")
    tap.check("what cannot be measured is an error",
              done.returncode != 0 and "/nonexistent.so" in done.stderr, done.stderr)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
