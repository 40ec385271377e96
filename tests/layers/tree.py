# SPDX-License-Identifier: BSD-3-Clause
"""The files of the project. Looked up on disk, so that an unpacked archive is checked as well."""
import os
import shutil
import subprocess
from pathlib import Path

CODE = {".c", ".h", ".cc", ".cpp", ".hpp"}
HEADERS = {".h", ".hpp"}


def files(root, *directories):
    """Paths relative to root of all files there, or of those below some directories."""
    found = []
    for directory, names, file_names in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("build") and
                          name != "__pycache__" and (name == ".ci" or not name.startswith(".")))
        found += [Path(directory, name).relative_to(root) for name in sorted(file_names)
                  if name != ".git"]
    return [path for path in found
            if not directories or any(Path(part) in path.parents for part in directories)]


def code(root, *directories):
    return [path for path in files(root, *directories) if path.suffix in CODE]


def text(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def first_program(*names):
    """The first of these programs that there is, or the first name for the error message's sake."""
    return next((name for name in names if shutil.which(name)), names[0])


def complaints_of(command, cwd=None):
    """What a checking program says when it ends with non-zero, as a list of lines."""
    try:
        run = subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)
    except FileNotFoundError:
        return [f"{command[0]} is not installed"]
    if run.returncode == 0:
        return []
    return (run.stdout + run.stderr).splitlines() or [f"{command[0]}: code {run.returncode}"]
