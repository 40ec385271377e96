#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""patterns.py OUT FILE...: writes the patterns of all commands in the program's sources as an array,
so that the fuzzer meets the prompt's own commands without the rest of the program."""
import re
import sys

out, sources = sys.argv[1], sys.argv[2:]
patterns = []
for source in sources:
    with open(source, encoding="utf-8") as file:
        patterns += re.findall(r'^      \{"([^"]+)",', file.read(), re.M)
if len(patterns) < 45:
    sys.exit(f"only {len(patterns)} commands found: has their form changed?")
with open(out, "w", encoding="utf-8") as file:
    file.write("#pragma once\ninline constexpr const char* kPatterns[] = {\n")
    file.writelines(f'    "{pattern}",\n' for pattern in patterns)
    file.write("};\n")
