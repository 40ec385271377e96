#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the help text of our programs, which CLI11 writes, and fills in man pages with it.

    cli_help.py man TEMPLATE KEY=VALUE... -- PROGRAM ARGUMENTS...

puts the options of the program for @OPTIONS@ and the values for @KEY@."""
import dataclasses
import datetime
import os
import re
import subprocess
import sys

COLUMN = 30  # where CLI11 begins the descriptions
KINDS = {"UINT": "N", "INT": "N", "FLOAT": "X", "TEXT": "TEXT"}


@dataclasses.dataclass
class Option:
    names: list
    value: str = ""       # "N" or "TEXT"; empty: a flag
    default: str = ""
    allowed: str = ""     # "1 to 512", "on, off"
    several: bool = False
    excludes: str = ""
    text: str = ""

    def limits(self):
        """What else there is to say, as sentences."""
        parts = []
        if self.allowed:
            parts.append(f"{self.allowed}.")
        if self.default:
            parts.append(f"Default: {self.default}.")
        if self.several:
            parts.append("May be given several times.")
        if self.excludes:
            parts.append(f"Not together with {self.excludes}.")
        return " ".join(parts)


def option_of(head, text):
    """head: "--rxq UINT:INT in [1 - 1024]=1"."""
    names, _, rest = head.strip().partition(" ")
    option = Option(names.split(","), text=text)
    rest, _, excludes = rest.partition("Excludes: ")
    option.excludes = excludes.strip().replace(" ", ", ")
    rest = rest.strip()
    if rest.endswith("..."):
        option.several, rest = True, rest[:-3].strip()
    match = re.fullmatch(r"([A-Z]+)(?::(\{.*?\}|[A-Z]+ in \[.*?\]))?(?:=(.*))?", rest)
    if match:
        kind, limits, default = match.groups()
        option.value = KINDS.get(kind, kind)
        option.default = "" if default in (None, "[]") else default
        if limits and limits.startswith("{"):
            option.allowed = limits[1:-1].replace(",", ", ")
        elif limits:
            option.allowed = re.sub(r".*\[(.*) - (.*)\]", r"\1 to \2", limits)
    elif rest:
        raise ValueError(f"cannot read '{head}' of the help text")
    return option


def options_of(help_text):
    lines = help_text.splitlines()
    options = []
    for number, line in enumerate(lines):
        if not re.match(r"  -", line):
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below.startswith(" " * COLUMN):
            options.append(option_of(line, below.strip()))
        else:
            options.append(option_of(line[:COLUMN], line[COLUMN:].strip()))
    if not options:
        raise ValueError("the help text names no option")
    return options


def help_of(command):
    # Wide, so that nothing depends on a terminal.
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "COLUMNS": "200"}).stdout


def sentence(text):
    return text[:1].upper() + text[1:].rstrip(".") + "."


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def roff(options):
    lines = []
    for option in options:
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names)
        lines += [".TP", names + (f" \\fI{option.value}\\fR" if option.value else "")]
        lines.append(escaped(sentence(option.text)))
        if option.limits():
            lines.append(escaped(option.limits()))
    return "\n".join(lines)


def date():
    """That of the release when a package is built, so that builds are reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    day = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch \
        else datetime.datetime.now(datetime.timezone.utc)
    return day.strftime("%Y-%m-%d")


def main(arguments):
    if len(arguments) < 2 or arguments[0] != "man":
        sys.exit(__doc__)
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    with open(arguments[1], encoding="utf-8") as file:
        page = file.read()
    values = dict(word.split("=", 1) for word in arguments[2:])
    values["DATE"] = date()
    if command:
        values["OPTIONS"] = roff(options_of(help_of(command)))
    for key, value in values.items():
        page = page.replace(f"@{key}@", value)
    left = re.search(r"@[A-Z]+@", page)
    if left:
        sys.exit(f"{arguments[1]}: nothing was given for {left.group(0)}")
    print(page, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
