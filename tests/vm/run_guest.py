#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one script inside a guest:  run_guest.py [--seconds N] MACHINE SCRIPT [ARGUMENT...]

The script is of the host's file system, which the guest sees read-only, and runs as root there. What
it prints is printed here while it runs; its exit status becomes that of this program. A guest that
ends without a status, or not in time, is a failure, and the end of its console is shown.
"""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import initramfs
import machine

SOURCE = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", SOURCE / "build"))
KERNEL = Path(os.environ.get("NEARPOOL_KERNEL", SOURCE / "build-kernel"))
QEMU = "qemu-system-x86_64"
KERNEL_LINE = "console=ttyS0 quiet panic=-1 iomem=relaxed"


def prepare(share, command):
    guest_environment = {"NEARPOOL_SOURCE": SOURCE, "NEARPOOL_BUILD": BUILD, "HOME": "/tmp",
                         "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONUNBUFFERED": "1",
                         "PYTHONDONTWRITEBYTECODE": "1"}
    (share / "environment").write_text(
        "".join(f"export {name}={shlex.quote(str(value))}\n"
                for name, value in guest_environment.items()))
    (share / "command").write_text(f"cd /tmp && exec {shlex.join(command)}\n")


def start(chosen, share):
    archive = share / "initramfs"
    initramfs.write(archive, KERNEL, chosen.iommu)
    line = [QEMU, *chosen.arguments("/", share), "-kernel", str(KERNEL / "vmlinuz"),
            "-initrd", str(archive), "-serial", f"file:{share / 'console'}",
            "-append", KERNEL_LINE + (" intel_iommu=on" if chosen.iommu else "")]
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=(share / "qemu").open("w"))


class Relay:
    """Prints what is new in a file."""

    def __init__(self, path):
        self.path = path
        self.at = 0

    def step(self):
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.at)
            text = file.read()
        self.at += len(text)
        sys.stdout.write(text.decode(errors="replace"))
        sys.stdout.flush()


def tail(path, lines=25):
    if not path.exists():
        return []
    return path.read_text(errors="replace").splitlines()[-lines:]


def run(chosen, command, seconds):
    with tempfile.TemporaryDirectory(prefix="nearpool-guest-") as name:
        share = Path(name)
        prepare(share, command)
        qemu = start(chosen, share)
        output = Relay(share / "output")
        deadline = time.monotonic() + seconds
        try:
            while qemu.poll() is None and time.monotonic() < deadline:
                output.step()
                time.sleep(0.1)
        finally:
            late = qemu.poll() is None
            if late:
                qemu.kill()
            qemu.wait()
        output.step()
        if (share / "status").exists():
            return int((share / "status").read_text())
        why = f"not done within {seconds} s" if late else "ended without a status"
        print(f"Bail out! guest {why}")
        for line in tail(share / "qemu") + tail(share / "console"):
            print(f"# {line}")
        return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("machine", choices=machine.MACHINES)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    missing = [what for what, there in [
        (QEMU, shutil.which(QEMU)), (str(initramfs.BUSYBOX), initramfs.BUSYBOX.exists()),
        (f"a kernel in {KERNEL}", (KERNEL / "release").exists())] if not there]
    if missing:
        print(f"Bail out! missing: {', '.join(missing)}: run scripts/deps.sh test")
        return 1
    # So that a test runner's SIGTERM ends the guest too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    command = [str(Path(options.command[0]).resolve()), *options.command[1:]]
    if command[0].endswith(".py"):
        command.insert(0, "/usr/bin/python3")
    return run(machine.MACHINES[options.machine], command, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
