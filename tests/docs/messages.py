# SPDX-License-Identifier: BSD-3-Clause
"""Error messages that the manual quotes, and where they must be: in our sources, or in a library that
a comment <!-- from: NAME --> below the heading names."""
import re
from pathlib import Path

LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def quoted(text):
    """[(message, library or "")], a message being a heading in back quotes."""
    found, lines = [], text.splitlines()
    for number, line in enumerate(lines):
        match = re.fullmatch(r"#+ `(.+)`", line)
        if match:
            below = lines[number + 1] if number + 1 < len(lines) else ""
            library = re.fullmatch(r"<!-- from: (\w+) -->", below)
            found.append((match.group(1), library.group(1) if library else ""))
    return found


def sources(root):
    """All literals as one text: those that the compiler joins are joined."""
    texts = []
    for directory in ("app", "lib", "drivers"):
        for path in sorted((root / directory).rglob("*")):
            if path.suffix in {".cc", ".hpp", ".h", ".c"}:
                text = path.read_text(encoding="utf-8")
                text = re.sub(r'"\s*\n\s*"', "", text)
                texts.append(re.sub(r"\{[^{}\s]*\}|%[-\w.]*[sdupx]|%l+u", "...", text))
    return "\n".join(texts)


def in_library(message, library):
    for directory in LIBRARIES:
        for path in Path(directory).glob(f"{library}.so*"):
            if message.encode() in path.read_bytes():
                return True
    return False


def complaints(root, text):
    all_sources, found = sources(root), []
    for message, library in quoted(text):
        # A message may be shortened at its ends only.
        there = in_library(message, library) if library else message.removesuffix(" ...").removesuffix(
            "...") in all_sources
        if not there:
            found.append(f"'{message}' is not in {library or 'the sources'}")
    return found
