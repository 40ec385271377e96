#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs scenarios one after the other inside the guest:  scenarios.py NAME...
Each is a file here with a function run(); results are TAP lines."""
import importlib
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path += [str(TESTS / "tools"), str(TESTS / "connectx4")]
import tap  # noqa: E402


def main():
    for name in sys.argv[1:]:
        began = time.monotonic()
        try:
            importlib.import_module(name).run()
        except Exception:  # pylint: disable=broad-except # the next scenario is still worth a run
            tap.check(f"{name} runs to its end", False, traceback.format_exc())
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)
    return tap.done()


sys.exit(main())
