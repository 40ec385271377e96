#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What comes back from a guest: output, exit status, and a failure when it ends otherwise."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import tap  # noqa: E402


def run(seconds, *command, path=None):
    return subprocess.run([sys.executable, str(HERE / "run_guest.py"), "--seconds", str(seconds),
                           "two_nodes", *command], capture_output=True, text=True, check=False,
                          env={**os.environ, **({"PATH": path} if path else {})})


def run_crashing(times, *command):
    """With a qemu that crashes so many times before it is the real one."""
    with tempfile.TemporaryDirectory() as folder:
        fake = Path(folder) / "qemu-system-x86_64"
        marks = " ".join(f"{folder}/{number}" for number in range(times))
        fake.write_text(f"""#!/bin/sh
for mark in {marks}; do mkdir "$mark" 2>/dev/null && kill -SEGV $$; done
exec {shutil.which(fake.name)} "$@"
""")
        fake.chmod(0o755)
        return run(100, *command, path=f"{folder}:{os.environ['PATH']}")


done = run(100, "/bin/sh", "-c", "echo said in the guest; exit 3")
tap.check("output and exit status come back",
          done.returncode == 3 and done.stdout == "said in the guest\n", done)
done = run(100, "/bin/sh", "-c", "echo before; busybox poweroff -f")
tap.check("a guest that ends without a status is a failure", done.returncode == 1
          and done.stdout.startswith("before\nBail out! guest ended without a status, qemu's status 0\n"), done)
done = run(3, "/bin/sh", "-c", "sleep 1000")
tap.check("so is one that is not done in time", done.returncode == 1
          and done.stdout.startswith("Bail out! guest not done within 3 s\n"), done)
done = run_crashing(1, "/bin/sh", "-c", "echo ran; exit 4")
tap.check("a qemu that crashes is started once more", done.returncode == 4 and done.stdout ==
          "# guest ended without a status, qemu killed by SIGSEGV: started once more\nran\n", done)
done = run_crashing(2, "/bin/sh", "-c", "echo ran; exit 4")
tap.check("not twice", done.returncode == 1
          and "\nBail out! guest ended without a status, qemu killed by SIGSEGV\n" in done.stdout, done)
sys.exit(tap.done())
