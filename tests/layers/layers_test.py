#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs each check on the project, and on a planted fault that it has to find."""
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import files  # noqa: E402
import headers  # noqa: E402
import layer_order  # noqa: E402
import tap  # noqa: E402

ROOT = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", ROOT / "build"))
COMPILERS = {
    "gcc": {"c": ["gcc"], "c++": ["g++"]},
    "clang": {"c": ["clang-14"], "c++": ["clang++-14"]},
}
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"


def clean(name, complaints):
    tap.check(name, not complaints, "\n".join(complaints))


def planted(name, checker, word, **contents):
    """The checker is quiet without the fault and names it when it is there."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for part in ("lib/numa", "lib/page_pool/include", "drivers/connectx4", "app/nearpmd"):
            (root / part).mkdir(parents=True)
        for path in (".clang-format", "lib/layers.txt"):
            (root / path).write_text((ROOT / path).read_text(encoding="utf-8"), encoding="utf-8")
        (root / "lib/numa/good.hpp").write_text(SPDX + "#pragma once\n", encoding="utf-8")
        before = checker(root)
        for path, content in contents["tree"].items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding="utf-8")
        after = checker(root)
        tap.check(name, not before and len(after) == 1 and word in after[0],
                  f"without the fault: {before}; with it: {after}")


# The order of the layers.
clean("no layer includes a higher one", layer_order.complaints(ROOT))
for name, word, path, include in (
        ("an include of a higher layer is found", "layer numa includes lib/page_pool/pool.hpp",
         "lib/numa/bad.cc", '#include "page_pool/pool.hpp"\n'),
        ("in angle brackets too", "layer numa includes lib/page_pool/pool.hpp",
         "lib/numa/bad.cc", "#  include <page_pool/pool.hpp>\n"),
        ("by a relative path too", "layer numa includes lib/page_pool/pool.hpp",
         "lib/numa/bad.cc", '#include "../page_pool/pool.hpp"\n'),
        ("a driver apart includes nothing of ours", "layer connectx4 includes lib/page_pool/pool.hpp",
         "drivers/connectx4/bad.c", '#include "pool.hpp"\n'),
        ("a file in no layer is found", "belongs to no layer", "app/other/bad.cc", ""),
        ("below lib too", "belongs to no layer", "lib/other/bad.cc", "")):
    planted(name, layer_order.complaints, word, tree={"lib/page_pool/pool.hpp": "", path: include})
planted("nothing of ours includes a driver apart", layer_order.complaints,
        "layer nearpmd includes drivers/connectx4/device.h",
        tree={"drivers/connectx4/device.h": "", "app/nearpmd/bad.cc": '#include "device.h"\n'})
planted("the lowest layer includes no other", layer_order.complaints,
        "layer base includes lib/numa/good.hpp",
        tree={"lib/bad.hpp": '#include "numa/good.hpp"\n'})

# Headers.
flags = headers.project_flags(ROOT, BUILD)
for name, compiler in COMPILERS.items():
    clean(f"each header compiles on its own under {name}",
          headers.complaints(ROOT, compiler, flags, BUILD))

    def alone(root, compiler=compiler):
        return headers.complaints(root, compiler, [], root)

    planted(f"{name}: a header that lacks an include is found", alone, "bad.hpp as c++: ",
            tree={"lib/numa/bad.hpp": "#pragma once\ninline uint32_t f();\n"})
    planted(f"{name}: a header without a guard is found", alone, "redefinition of",
            tree={"lib/numa/bad.hpp": "struct S {};\n"})
    planted(f"{name}: an interface for C that is C++ only is found", alone, "as c:",
            tree={"lib/page_pool/include/bad.h": "#pragma once\nclass C {};\n"})

# Single files.
clean("clang-format has nothing to change", files.format_complaints(ROOT))
planted("a badly formatted file is found", files.format_complaints, "lib/numa/bad.cc",
        tree={"lib/numa/bad.cc": SPDX + "int  a;\n"})
clean("shellcheck has nothing to say", files.shell_complaints(ROOT))
planted("a script with a fault is found", files.shell_complaints, "SC2154",
        tree={"scripts/bad.sh": "#!/bin/bash\necho \"$nothing\"\n"})
clean(f"no C or C++ file has more than {files.MOST_LINES} lines", files.length_complaints(ROOT))
planted("a long file is found", files.length_complaints, "401 lines",
        tree={"lib/numa/bad.cc": "\n" * 401})
clean("each file begins with its licence", files.licence_complaints(ROOT))
planted("a file without a licence is found", files.licence_complaints, "lib/numa/bad.cc",
        tree={"lib/numa/bad.cc": "int a;\n"})
clean("nothing in the tree names one machine", files.machine_complaints(ROOT))
planted("a path of one machine is found", files.machine_complaints, "scripts/bad.txt:1",
        tree={"scripts/bad.txt": "see /" + "home/someone\n"})
sys.exit(tap.done())
