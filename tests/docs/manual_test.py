#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual is true: it builds without a warning, its commands run, the messages it explains exist,
and the reference is what the programs say."""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["NEARPOOL_SOURCE"])
BUILD = Path(os.environ["NEARPOOL_BUILD"])
sys.path.insert(0, str(SOURCE / "tests/tools"))
import blocks  # noqa: E402
import messages  # noqa: E402
import tap  # noqa: E402

# The manual is what its table of contents names.
CONTENTS = (SOURCE / "mkdocs.yml").read_text(encoding="utf-8")
PAGES = [SOURCE / "docs" / name for name in re.findall(r"^  - .*: (\S+\.md)$", CONTENTS, re.M)]
LIMIT = 180  # seconds for one command


def builds():
    if shutil.which("mkdocs") is None:
        tap.skip("mkdocs builds the manual", "needs the program mkdocs")
        return
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "-f", SOURCE / "mkdocs.yml", "-d",
                               directory], capture_output=True, text=True, check=False)
        tap.check("mkdocs builds the manual without a warning",
                  done.returncode == 0 and "WARNING" not in done.stderr, done.stderr)
        made = list(Path(directory).rglob("*.html"))
        tap.check("a page for each file", len(made) >= len(PAGES), str(made))
    for page in sorted(set(SOURCE.glob("docs/**/*.md")) - set(PAGES)):
        print(f"# {page.relative_to(SOURCE)} is not in the table of contents")


def reference():
    done = subprocess.run([sys.executable, SOURCE / "scripts/cli_reference.py", BUILD], text=True,
                          capture_output=True, check=False)
    there = (SOURCE / "docs/cli.md").read_text(encoding="utf-8")
    tap.check("docs/cli.md is up to date", done.returncode == 0 and done.stdout == there,
              done.stderr + "run: scripts/cli_reference.py >docs/cli.md")


def place(directory):
    """A directory as a clone with everything installed looks like, and an environment for it."""
    programs = directory / "bin"
    programs.mkdir()
    for path in ("app/nearpmd/nearpmd", "drivers/connectx4/launcher/connectx4", "docs/examples/l3fwd_pools"):
        (programs / Path(path).name).symlink_to(BUILD / path)
    (programs / "sudo").write_text('#!/bin/sh\nexec env "$@"\n', encoding="ascii")
    (programs / "sudo").chmod(0o755)
    for name in ("config", "tests"):
        (directory / name).symlink_to(SOURCE / name)
    # Scripts find the sources by where they lie, so links to them would not do.
    (directory / "scripts").mkdir()
    for script in SOURCE.glob("scripts/*.sh"):
        wrapper = directory / "scripts" / script.name
        wrapper.write_text(f'#!/bin/sh\nexec "{script}" "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


def commands():
    for page in PAGES:
        name, text = str(page.relative_to(SOURCE)), page.read_text(encoding="utf-8")
        wrong = blocks.complaints(name, text)
        tap.check(f"{name}: each command says what becomes of it", not wrong, "\n".join(wrong))
        for block in blocks.blocks_of(name, text):
            title = f"{name}:{block.line}"
            if block.fate in ("elsewhere", "installed"):
                missing = blocks.missing_in_test(block, SOURCE)
                tap.check(f"{title}: {block.reason} runs it", not missing, missing)
            elif block.fate == "hardware":
                print(f"# {title}: not run, needs {block.reason}")
                understood(title, block)
            elif os.geteuid() != 0:
                tap.skip(title, "needs root")
            else:
                run(title, block.text)


def understood(title, block):
    """What needs hardware is not run, but nearpmd has to understand its arguments: the doctor reads them, as
    well as the files they name, and says what the machine lacks."""
    for words in blocks.commands_of(block):
        if blocks.program_of(words) not in ("nearpmd", "connectx4") or "nearpmd" not in words:
            continue
        arguments = [word for word in words[words.index("nearpmd") + 1:] if word != "--doctor"]
        done = subprocess.run([BUILD / "app/nearpmd/nearpmd", "--doctor", *arguments], cwd=SOURCE, check=False,
                              capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        tap.check(f"{title}: nearpmd understands {' '.join(arguments)}", done.returncode in (0, 3) and
                  "stop nearpmd" in done.stdout, done.stdout + done.stderr)


def run(title, text):
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=directory, timeout=LIMIT,
                                  env=place(Path(directory)), stdin=subprocess.DEVNULL, check=False,
                                  capture_output=True, text=True, errors="replace")
            tap.check(f"{title} runs", done.returncode == 0, f"{text}\nexit code {done.returncode}\n"
                      + done.stdout[-2000:] + done.stderr[-2000:])
        except subprocess.TimeoutExpired:
            tap.check(f"{title} runs", False, f"{text}\nstill runs after {LIMIT} s")


def checkers():
    """That the checks see what they are for."""
    page = "a\n\n<!-- run -->\n```sh\nls\n```\n\n```sh\nrm x\n```\n\n<!-- hardware -->\n```sh\nls\n```\n"
    tap.check("blocks are found", [b.text for b in blocks.blocks_of("p", page)] == ["ls", "rm x", "ls"])
    wrong = blocks.complaints("p", page + "\n    sudo nearpmd -l 0\n")
    tap.check("a command without a comment, one without a reason and one outside are found",
              len(wrong) == 3, "\n".join(wrong))
    other = blocks.Block("p", 1, "elsewhere", "tests/docs/manual_test.py, more", "sudo A=1 x/mkdocs \\\n build")
    tap.check("the program of a command is found",
              [blocks.program_of(words) for words in blocks.commands_of(other)] == ["mkdocs"])
    tap.check("a test that has it is one that runs it", blocks.missing_in_test(other, SOURCE) == "")
    absent = dataclasses.replace(other, text="mkdocs build\nno" + "where")
    tap.check("one that has not is found", blocks.missing_in_test(absent, SOURCE).endswith(" run no" + "where"))
    absent = dataclasses.replace(other, reason="tests/nothing.py")
    tap.check("and one that is not there", blocks.missing_in_test(absent, SOURCE) == "there is no nothing.py")
    found = messages.complaints(SOURCE, "### `no such message anywhere`\n### `the EAL does not start: ...`\n"
                                "### `world-writable and insecure`\n<!-- from: librte_eal -->\n")
    tap.check("a message that does not exist is found, and no other",
              found == ["'no such message anywhere' is not in the sources"], str(found))


def main():
    checkers()
    builds()
    reference()
    wrong = messages.complaints(SOURCE, (SOURCE / "docs/troubleshooting.md").read_text(encoding="utf-8"))
    tap.check("each message explained exists", not wrong, "\n".join(wrong))
    commands()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
