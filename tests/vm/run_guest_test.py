#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What comes back from a guest: output, exit status, and a failure when it ends otherwise."""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import tap  # noqa: E402


def run(seconds, *command):
    return subprocess.run([sys.executable, str(HERE / "run_guest.py"), "--seconds", str(seconds),
                           "two_nodes", *command], capture_output=True, text=True, check=False)


done = run(100, "/bin/sh", "-c", "echo said in the guest; exit 3")
tap.check("output and exit status come back",
          done.returncode == 3 and done.stdout == "said in the guest\n", done)
done = run(100, "/bin/sh", "-c", "echo before; busybox poweroff -f")
tap.check("a guest that ends without a status is a failure", done.returncode == 1
          and done.stdout.startswith("before\nBail out! guest ended without a status\n"), done)
done = run(3, "/bin/sh", "-c", "sleep 1000")
tap.check("so is one that is not done in time", done.returncode == 1
          and done.stdout.startswith("Bail out! guest not done within 3 s\n"), done)
sys.exit(tap.done())
