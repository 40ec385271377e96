#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/cli.md from what the programs say of themselves:

    scripts/cli_reference.py [BUILD] >docs/cli.md"""
import os
import re
import subprocess
import sys
from pathlib import Path

import cli_help

HEAD = """# Options and commands

This page is written by `scripts/cli_reference.py` from the programs' own tables; change those, not
this page.
"""


def table(options):
    lines = ["| option | | |", "|---|---|---|"]
    for option in options:
        names = ", ".join(option.names) + (f" {option.value}" if option.value else "")
        text = option.text.replace("|", "\\|")
        lines.append(f"| `{names}` | {text} | {option.limits()} |")
    return "\n".join(lines)


def commands_of(nearpmd):
    """What the prompt's help lists: [(section, [(pattern, text)])]."""
    command = [nearpmd, "-l", "0,1", "--no-pci", "--no-huge", "-m", "64", "--no-shconf", "--no-telemetry",
               f"--file-prefix=nearpmd-reference-{os.getpid()}", "--vdev=net_null0", "--", "-i",
               "--arena-no-huge"]
    run = subprocess.run(command, input="help\nquit\n", capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    if "nearpmd> help" not in lines:
        sys.exit(f"cli_reference.py: nearpmd's prompt does not answer:\n{run.stdout}{run.stderr}")
    sections = []
    for line in lines[lines.index("nearpmd> help") + 1:]:
        entry = re.fullmatch(r"  (\S.*?) {2,}(\S.*)|  (\S.{58,}?) (\S.*)", line)
        if re.fullmatch(r"[a-z ]+:", line):
            sections.append((line[:-1], []))
        elif entry and sections:
            sections[-1][1].append((entry[1] or entry[3], entry[2] or entry[4]))
        else:
            break
    return sections


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "build")
    nearpmd = str(build / "app/nearpmd/nearpmd")
    connectx4 = str(build / "drivers/connectx4/launcher/connectx4")
    print(HEAD)
    print("## nearpmd\n\n`nearpmd [EAL options] -- [options]`. Any option may stand in a TOML file that")
    print("`--config` names, without the dashes: `rxq = 2`, `hardened = true`.\n")
    print(table(cli_help.options_of(cli_help.help_of([nearpmd, "--", "--help"]))))
    print("\n`nearpmd --doctor [EAL options] [-- options]` starts nothing and looks whether the machine is")
    print("ready for these options. Exit code 0: nothing stands in the way, 3: something does, 1: the")
    print("arguments make no sense.\n")
    print("## The prompt of nearpmd\n\nWords in capitals stand for a value. `help SECTION` lists a section.")
    for section, commands in commands_of(nearpmd):
        print(f"\n### {section}\n\n| command | |\n|---|---|")
        for pattern, text in commands:
            escaped = pattern.replace("|", "\\|")
            print(f"| `{escaped}` | {text} |")
    print("\n## connectx4\n\n`connectx4 [options] [--] command [arguments]`\n")
    print(table(cli_help.options_of(cli_help.help_of([connectx4, "--help"]))))


if __name__ == "__main__":
    main()
