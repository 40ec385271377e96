# SPDX-License-Identifier: BSD-3-Clause
"""Checks on single files: format, scripts, length, licence, no traces of one machine."""
import re

import tree

MOST_LINES = 400
# Files that may be longer, each with a reason. Empty is best.
MAY_BE_LONGER = {}
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
# Put together here, so that this file does not find itself.
MACHINE = re.compile("|".join([
    r"(?<![\w.}])/(?:work|root|home|Users|mnt)" + r"/\w",
    r"\b(?:deb|security|snapshot|archive)\." + r"(?:debian|ubuntu)\.\w+",
    r"\b(?:pypi|npmjs|crates)\." + r"(?:org|com|io)\b",
]))


def format_complaints(root):
    clang_format = tree.first_program("clang-format-14", "clang-format")
    paths = [str(path) for path in tree.code(root)]
    if not paths:
        return []
    return [line for line in tree.complaints_of(
        [clang_format, "--dry-run", "-Werror", "--style=file", *paths], cwd=root) if "error" in line]


def is_shell(root, path):
    return path.suffix == ".sh" or (path.suffix == "" and
                                    re.match(r"#!.*\b(ba)?sh\b", tree.text(root, path)[:80]))


def shell_complaints(root):
    paths = [str(path) for path in tree.files(root) if is_shell(root, path)]
    return tree.complaints_of(["shellcheck", "-x", "-S", "warning", "-f", "gcc", *paths],
                              cwd=root) if paths else []


def length_complaints(root):
    lengths = {path: tree.text(root, path).count("\n") for path in tree.code(root)}
    return [f"{path}: {lines} lines, more than {MOST_LINES}: split it"
            for path, lines in lengths.items() if lines > MOST_LINES and str(path) not in MAY_BE_LONGER]


def licence_complaints(root):
    found = []
    for path in tree.files(root):
        if path.suffix in tree.CODE | {".sh", ".py"} or path.name == "meson.build":
            # A script begins with the name of its interpreter.
            if LICENCE not in "".join(tree.text(root, path).splitlines()[:2]):
                found.append(f"{path}: does not begin with the line '{LICENCE}'")
    return found


def machine_complaints(root):
    found = []
    for path in tree.files(root):
        if b"\0" in (root / path).read_bytes():
            continue
        for number, line in enumerate(tree.text(root, path).splitlines(), 1):
            match = MACHINE.search(line)
            if match:
                found.append(f"{path}:{number}: names something of one machine: {match.group(0)}")
    return found
