# SPDX-License-Identifier: BSD-3-Clause
"""Commands in the manual. Each is a block in sh, and a comment above it says what becomes of it:

    <!-- run -->               the test runs it
    <!-- hardware: ... -->     it needs what a test does not have
    <!-- elsewhere: ... -->    another test runs it
    <!-- installed: ... -->    the test of the installed files runs it
"""
import dataclasses
import re

FATES = ("run", "hardware", "elsewhere", "installed")


@dataclasses.dataclass
class Block:
    page: str
    line: int
    fate: str    # "": the page does not say
    reason: str
    text: str


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
