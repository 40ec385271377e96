#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The replaced libraries have every symbol of the installed ones, with its version and kind: programs
bind to all of them when they are loaded."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import rig  # noqa: E402
import tap  # noqa: E402

LIBRARIES = rig.BUILD / "drivers/connectx4/lib"


def symbols(path):
    """name@version: (function or data, size of data)."""
    lines = subprocess.run(["nm", "-D", "-S", "--defined-only", path], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    found = {}
    for line in lines:
        *sizes, kind, name = line.split()
        data = kind in "BDR"
        found[name.replace("@@", "@")] = (kind if kind == "A" else "data" if data else "function",
                                          int(sizes[1], 16) if data and len(sizes) == 2 else 0)
    return found


def soname(path):
    text = subprocess.run(["readelf", "-d", path], text=True, capture_output=True, check=True).stdout
    return [line.split("[")[1].rstrip("]") for line in text.splitlines() if "SONAME" in line]


for library in ("libibverbs.so.1", "libmlx5.so.1"):
    installed = subprocess.run(["gcc", f"-print-file-name={library}"], text=True, capture_output=True,
                               check=True).stdout.strip()
    theirs, ours = symbols(installed), symbols(LIBRARIES / library)
    missing = {name: what for name, what in theirs.items() if ours.get(name) != what}
    tap.check(f"{library}: none of {len(theirs)} symbols is missing or another", len(theirs) > 50 and not missing,
              missing)
    more = [name for name in ours if name not in theirs and "CONNECTX4_PRIVATE" not in name]
    tap.check(f"{library}: nothing else is exported", not more, more)
    tap.check(f"{library}: the name programs look for", soname(LIBRARIES / library) == [library])
sys.exit(tap.done())
