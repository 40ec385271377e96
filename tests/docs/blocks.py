# SPDX-License-Identifier: BSD-3-Clause
"""Commands in the manual. Each is a block in sh, and a comment above it says what becomes of it:

    <!-- run -->               the test runs it
    <!-- hardware: ... -->     it needs what a test does not have; nearpmd's arguments are looked at
    <!-- elsewhere: FILE -->   another test runs it, which has all its programs
    <!-- installed: FILE -->   likewise, with what is installed
"""
import dataclasses
import os
import re
import shlex

FATES = ("run", "hardware", "elsewhere", "installed")


@dataclasses.dataclass
class Block:
    page: str
    line: int
    fate: str    # "": the page does not say
    reason: str
    text: str


def commands_of(block):
    """Lines of the block without comments, continued ones joined, each as a list of its words."""
    return [words for words in (shlex.split(line, comments=True) for line in
                                block.text.replace("\\\n", " ").splitlines()) if words]


def program_of(words):
    """The name of what a command runs: without sudo, and without assignments before it."""
    return next((os.path.basename(word) for word in words if word != "sudo" and "=" not in word), "")


def missing_in_test(block, root):
    """What is wrong with the test that a block names; empty: it is there and runs the block's programs."""
    path = root / block.reason.split(",")[0]
    if not path.is_file():
        return f"there is no {path.name}"
    text = path.read_text(encoding="utf-8")
    lacks = sorted({program_of(words) for words in commands_of(block)} - set(re.findall(r"[\w.-]+", text)))
    return f"{path.name} does not run {', '.join(lacks)}" if lacks else ""


def blocks_of(page, text):
    blocks, comment, language, lines, begin = [], "", None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if language is None:
                language, lines, begin = line[3:].strip(), [], number
                continue
            if language == "sh":
                match = re.fullmatch(r"<!-- (\w+)(?:: (.+))? -->", comment)
                fate, reason = match.groups() if match else ("", "")
                blocks.append(Block(page, begin, fate, reason or "", "\n".join(lines)))
            language, comment = None, ""
        elif language is not None:
            lines.append(line)
        elif line.strip():
            comment = line.strip()
    return blocks


def complaints(page, text):
    """Commands that no test could see, and words that mean nothing."""
    found = []
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and re.match(r"    (sudo |\S*(nearpmd|connectx4|testpmd|pktgen|meson|scripts/)\S* )", line):
            found.append(f"{page}:{number}: a command outside of a block in sh: {line.strip()}")
    for block in blocks_of(page, text):
        where = f"{page}:{block.line}"
        if block.fate not in FATES:
            found.append(f"{where}: a command needs a comment above: one of {', '.join(FATES)}")
        elif block.fate != "run" and not block.reason:
            found.append(f"{where}: '{block.fate}' needs a reason: <!-- {block.fate}: why -->")
    return found
