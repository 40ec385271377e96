#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one script inside a guest:  run_guest.py [--seconds N] MACHINE SCRIPT [ARGUMENT...]

The script is of the host's file system, which the guest sees read-only, and runs as root there. What
it prints is printed here when the guest has ended; its exit status becomes that of this program. A
guest that ends without a status, or not in time, is a failure, and the end of its console is shown.

A qemu that crashes says nothing about the script: the guest is started once more, and what was printed
so far becomes comments; a second crash is a failure. qemu 7.2 has a defect that can do it: a CPU that
changes the memory map, as by turning a device's memory on, frees what the other CPUs still look up
(mended in 8.2, "softmmu: Use async_run_on_cpu in tcg_commit").
"""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import initramfs
import machine

SOURCE = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", SOURCE / "build"))
KERNEL = Path(os.environ.get("NEARPOOL_KERNEL", SOURCE / "build-kernel"))
QEMU = "qemu-system-x86_64"
# no_timer_check: a guest whose host is busy may get no tick while the kernel looks for one, and panics.
KERNEL_LINE = "console=ttyS0 quiet panic=-1 iomem=relaxed no_timer_check"


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


CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def lines_of(path):
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def ending(status):
    """How qemu ended: a guest that powers itself off or panics leaves 0."""
    return f"qemu killed by {signal.Signals(-status).name}" if status < 0 else f"qemu's status {status}"


@dataclass
class Run:
    output: list  # lines
    status: int | None  # None: `why` says what happened
    why: str = ""
    crashed: bool = False
    consoles: list = field(default_factory=list)


def run_once(chosen, command, seconds):
    with tempfile.TemporaryDirectory(prefix="nearpool-guest-") as name:
        share = Path(name)
        prepare(share, command)
        qemu = start(chosen, share)
        try:
            qemu.wait(seconds)
            late = False
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if qemu.poll() is None:
                qemu.kill()
            qemu.wait()
        output = lines_of(share / "output")
        if (share / "status").exists():
            return Run(output, int((share / "status").read_text()))
        return Run(output, None,
                   f"not done within {seconds} s" if late else f"ended without a status, {ending(qemu.returncode)}",
                   not late and -qemu.returncode in CRASHES,
                   lines_of(share / "qemu")[-25:] + lines_of(share / "console")[-25:])


def run(chosen, command, seconds):
    """@return the exit status of the command."""
    done = run_once(chosen, command, seconds)
    if done.crashed:
        for line in done.output + done.consoles:
            print(f"# {line}")
        print(f"# guest {done.why}: started once more")
        done = run_once(chosen, command, seconds)
    for line in done.output:
        print(line)
    if done.status is not None:
        return done.status
    print(f"Bail out! guest {done.why}")
    for line in done.consoles:
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
