#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command of the prompt, every option and every sentence of an error has a scenario: compares the
program's own tables and sources with what the scripts nearpmd_*_test.sh send, start and expect. A new
one without a scenario is red here."""
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import error_texts  # noqa: E402
import tap  # noqa: E402

BUILD = Path(os.environ.get("NEARPOOL_BUILD", HERE.parents[1] / "build"))
SOURCES = HERE.parents[1] / "app/nearpmd/cli"
# Without the comments: a command spoken of is not a command given.
SCENARIOS = "\n".join(re.sub(r"^\s*#.*$", "", path.read_text(), flags=re.M)
                      for path in sorted(HERE.glob("nearpmd_*_test.*")) if path != Path(__file__))


def commands():
    """Each command with each of its alternatives: 'set rebalance on|off' is two."""
    for source in sorted(SOURCES.glob("commands_*.cc")):
        for pattern in re.findall(r'^      \{"([^"]+)",', source.read_text(), re.M):
            words = [word.split("|") for word in pattern.split()]
            yield from (" ".join(choice) for choice in itertools.product(*words))


def regex_of(command):
    """As it stands in a script, in quotes, in a line of a file, or with variables in it."""
    words = []
    for word in command.split():
        words.append(r"[^\s'\"\\;]+" if word[0].isupper() else rf"(?:{re.escape(word)}|\$\{{?\w+\}}?)")
    return r"(?:^|['\"\n;>]|\\n)\s*" + r"\s+".join(words) + r"(?=$|['\"\n;]|\\n)"


def literal(command):
    return [word for word in command.split() if not word[0].isupper()]


def has_scenario(command):
    if not re.search(regex_of(command), SCENARIOS, re.M):
        return False
    # A variable may stand for a word that is somewhere in the scripts, not for one that is nowhere.
    return all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", SCENARIOS) for word in literal(command))


found = list(commands())
tap.check(f"there are commands ({len(found)})", len(found) >= 60)
for command in found:
    # A command of one word may stand without quotes: ask start.
    alone = len(command.split()) == 1 and re.search(rf"\b(?:ask|send pmd) {command}\b", SCENARIOS)
    tap.check(f"command: {command}", alone or has_scenario(command))
tap.check("a command that no scenario has is noticed", not has_scenario("show nonsense all"))

help_text = subprocess.run([BUILD / "app/nearpmd/nearpmd", "--", "--help"], capture_output=True, text=True,
                           check=True).stdout
options = [name for name in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", help_text) if name != "help"]
options = sorted(set(options))
tap.check(f"there are options ({len(options)})", len(options) >= 50)
for option in options:
    tap.check(f"option: --{option}", re.search(rf"--{option}(?![\w-])", SCENARIOS) or
              re.search(rf"^{option} = ", SCENARIOS, re.M))

TESTS = error_texts.plain("\n".join(path.read_text() for path in sorted(HERE.parent.rglob("*"))
                                    if path.suffix in {".sh", ".py", ".cc"} and path != Path(__file__)))
# Of devices and the EAL that fail where none does here.
ONLY_ELSEWHERE = [
    "the device does not say what it offers", "does not stop", "does not close", "no memory for",
    "cannot be removed", "brought no port with it", "cannot reach the page arena", "does not clear its",
    "cannot be used for a prompt", "the options cannot be read", "does not start: {}", "extended statistics",
    "is not a pattern the EAL takes", "stop it before it is configured", "cannot spread a frame",
    "TX queue {} of {} descriptors is refused", "refuses {} RX queues", "refuses frames of",
]
for source in sorted((SOURCES.parent).rglob("*.cc")):
    if source.parent.name == "doctor":
        continue
    missing = [text for text in error_texts.untested(source.read_text(), TESTS)
               if not any(part in text for part in ONLY_ELSEWHERE)]
    tap.check(f"errors of {source.relative_to(SOURCES.parent)}", not missing, "\n".join(missing))
tap.check("a sentence that no test has is noticed",
          error_texts.untested('failure("port {} sings out of ' + 'tune: {}", a, b)', TESTS))
sys.exit(tap.done())
