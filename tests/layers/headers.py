# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each header compiles on its own, and twice in one file."""
import concurrent.futures
import json
import os
import shlex
import subprocess

import tree

CHECKED = ("lib", "drivers", "app")
STANDARD = {"c": "gnu11", "c++": "gnu++20"}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-variable",
            "-Wno-unused-const-variable"]


def project_flags(root, build_dir):
    """Where the build looks for headers, as meson gave it to the compiler. Dependencies too."""
    flags = {}
    commands = json.loads((build_dir / "compile_commands.json").read_text(encoding="utf-8"))
    for command in commands:
        source = os.path.relpath(os.path.join(command["directory"], command["file"]), root)
        if source.split(os.sep)[0] not in CHECKED:
            continue
        words = shlex.split(command["command"])
        for word, following in zip(words, words[1:] + [""]):
            if word in ("-include", "-isystem", "-I"):
                flags[(word, following)] = None
            elif word.startswith(("-I", "-isystem", "-march=")):
                flags[(word,)] = None
    return [word for words in flags for word in words]


def languages(path):
    """A .h is for C; below a directory 'include' it is an interface for C and C++."""
    if path.suffix == ".hpp":
        return ["c++"]
    return ["c", "c++"] if "include" in path.parts else ["c"]


def compile_alone(compiler, language, flags, header, cwd):
    command = [*compiler[language], f"-std={STANDARD[language]}", *WARNINGS, *flags,
               "-fsyntax-only", "-x", language, "-"]
    run = subprocess.run(command, cwd=cwd, input=f'#include "{header}"\n' * 2, text=True,
                         capture_output=True, check=False)
    if run.returncode == 0:
        return []
    # The first error is the one to mend; the others mostly follow from it.
    said = [line for line in run.stderr.splitlines() if "error: " in line] + [run.stderr]
    return [f"{header} as {language}: {said[0]}"]


def complaints(root, compiler, flags, cwd):
    """compiler: language to command. Headers that are for one compiler only do not exist here."""
    jobs = [(language, root / path) for path in tree.files(root, *CHECKED)
            if path.suffix in tree.HEADERS for language in languages(path)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda job: compile_alone(compiler, job[0], flags, job[1], cwd), jobs)
        return [line for lines in results for line in lines]
