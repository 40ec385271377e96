# SPDX-License-Identifier: BSD-3-Clause
"""Checks #include lines against lib/layers.txt."""
import re
from pathlib import Path

import tree

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
CHECKED = ("lib", "drivers", "app")


class Layers:
    def __init__(self, text):
        self.directories = {}  # layer: directory
        self.height = {}  # layer: place in the order; None apart
        for line in text.splitlines():
            words = line.split("#")[0].split()
            apart = words[:1] == ["apart"]
            if apart:
                words = words[1:]
            if not words:
                continue
            name, directory = words
            self.directories[name] = Path(directory)
            self.height[name] = None if apart else len(self.height)

    def of(self, path):
        """The layer of a file, or None."""
        fitting = [(len(directory.parts), name) for name, directory in self.directories.items()
                   if directory in path.parents]
        return max(fitting)[1] if fitting else None

    def may_include(self, includer, included):
        if includer == included:
            return True
        above, below = self.height[includer], self.height[included]
        return above is not None and below is not None and below < above


def included_files(path, name, paths):
    """The files of the project that an include line may mean: one beside the includer, else any
    whose path ends like this."""
    beside = Path(*path.parent.parts, *Path(name).parts)
    if beside in paths:
        return [beside]
    parts = tuple(part for part in Path(name).parts if part not in (".", ".."))
    return [other for other in paths if other.parts[-len(parts):] == parts]


def complaints(root):
    layers = Layers(tree.text(root, "lib/layers.txt"))
    paths = set(tree.code(root, *CHECKED))
    found = []
    for path in sorted(paths):
        own = layers.of(path)
        if own is None or path.parts[0] == "lib" and len(path.parts) > 2 and own == "base":
            found.append(f"{path}: belongs to no layer: name its directory in lib/layers.txt")
            continue
        for number, line in enumerate(tree.text(root, path).splitlines(), 1):
            match = INCLUDE.match(line)
            for other in included_files(path, match.group(1), paths) if match else ():
                layer = layers.of(other)
                if layer is not None and not layers.may_include(own, layer):
                    found.append(f"{path}:{number}: layer {own} includes {other} of layer {layer}")
    return found
