#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The model of a move: what goes in comes out again, and the pool's switches make the difference."""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", SOURCE / "build"))
sys.path.insert(0, str(SOURCE / "tests/tools"))
import tap  # noqa: E402

# Published: near, far without and with following.
PUBLISHED = {"drop": (11.0, 4.4, 5.8), "tx": (6.5, 3.5, 4.0)}
CLOSE = 0.1  # of a published rate


def main():
    done = subprocess.run([str(BUILD / "tests/model/move_model")], capture_output=True, text=True,
                          check=False, timeout=100)
    text = done.stdout
    tap.check("it ends well, all pages home", done.returncode == 0, text + done.stderr)
    tap.check("it says that it is a model", text.startswith("MODEL, not a measurement"), text[:200])
    rates = {(name, variant): (float(near), float(far), int(pages)) for name, variant, near, far, pages
             in re.findall(r"^(drop|tx) +(\w+) +([\d.]+) +([\d.]+) +(\d+)%", text, re.M)}
    tap.check("two verdicts with the switches in four ways", len(rates) == 8, text)
    for name, (near, before, after) in PUBLISHED.items():
        tap.check(f"{name}: the near rate is the published one, whatever the switches say",
                  {rates[name, variant][0] for variant in ("neither", "follow", "reject", "both")} == {near})
        for variant in ("neither", "reject"):
            tap.check(f"{name}, {variant}: no page comes along, and the far rate is the published one",
                      rates[name, variant][1:] == (before, 100), rates[name, variant])
        tap.check(f"{name}, both: all pages come along", rates[name, "both"][2] == 0)
        far = rates[name, "both"][1]
        tap.check(f"{name}, both: {far} Mpps, near the published {after} that did not go in",
                  abs(far - after) < CLOSE * after and far > before)
        tap.check(f"{name}, follow without reject: pages stay behind for good",
                  rates[name, "follow"][2] > 0, rates[name, "follow"])
    steps = re.findall(r"^ *(\d+) to \d+ +[\d.]+ +(\d+)% +[\d.]+ +(\d+)%", text, re.M)
    tap.check("over time: from all frames in pages left behind to none",
              steps and steps[0][1:] == ("100", "100") and steps[-1][1:] == ("0", "0"), steps)
    return tap.done()


sys.exit(main())
