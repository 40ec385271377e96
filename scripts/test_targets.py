#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what has to be built for the tests of one suite: test_targets.py BUILD_DIR SUITE."""
import json
import os
import sys


def main(directory, suite):
    def info(name):
        with open(os.path.join(directory, "meson-info", f"intro-{name}.json"), encoding="utf-8") as file:
            return json.load(file)

    root = os.path.abspath(directory)
    files = {target["id"]: target["filename"] for target in info("targets")}
    wanted = set()
    for test in info("tests"):
        if not any(name.split(":")[-1] == suite for name in test["suite"]):
            continue
        for target in test["depends"]:
            wanted.update(files.get(target, []))
        wanted.update(part for part in test["cmd"][:1] if os.path.isabs(part))
    for path in sorted(wanted):
        relative = os.path.relpath(path, root)
        if not relative.startswith(".."):
            print(relative)


main(*sys.argv[1:])
