#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whose a build directory is: scripts/common.sh builds in a user's clone as that user, under sudo too."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tap

COMMON = Path(__file__).resolve().parents[2] / "scripts/common.sh"
USER = 65534
BUILD = "set -e; . scripts/common.sh; configure build; build build"


def clone(directory, owner):
    """A project that is built in a moment, below a directory that everybody may enter."""
    root = Path(directory) / "clone"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(COMMON, root / "scripts")
    (root / "meson.build").write_text(
        "project('x')\ncustom_target('x', output: 'x', command: ['touch', '@OUTPUT@'], build_by_default: true)\n",
        encoding="ascii")
    Path(directory).chmod(0o755)
    for path in (root, *root.rglob("*")):
        os.chown(path, owner, owner)
    return root


def built(root, sudo_user):
    environment = {**os.environ, "SUDO_UID": str(sudo_user), "SUDO_GID": str(sudo_user)}
    done = subprocess.run(["bash", "-c", BUILD], cwd=root, env=environment, capture_output=True, text=True,
                          check=False)
    owner = (root / "build/x").stat().st_uid if (root / "build/x").exists() else None
    return done.returncode, owner, done.stdout[-500:] + done.stderr[-500:]


def main():
    if os.geteuid() != 0:
        tap.skip("a clone's owner builds", "needs root")
        return tap.done()
    with tempfile.TemporaryDirectory() as directory:
        root = clone(directory, USER)
        code, owner, said = built(root, USER)
        tap.check("under sudo, what is built in a user's clone is the user's", (code, owner) == (0, USER), said)
        code, owner, said = built(root, USER)
        tap.check("and again", (code, owner) == (0, USER), said)
    with tempfile.TemporaryDirectory() as directory:
        root = clone(directory, USER)
        (root / "build").mkdir()
        code, owner, said = built(root, USER)
        tap.check("a directory that root has built stays root's", (code, owner) == (0, 0), said)
    with tempfile.TemporaryDirectory() as directory:
        code, owner, said = built(clone(directory, 0), USER)
        tap.check("in root's own clone, sudo or not, it is root's", (code, owner) == (0, 0), said)
    return tap.done()


sys.exit(main())
