#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what a replacement of a shared library needs beside its own functions.

Programs bind to every symbol and version of the library they were linked to when they are loaded, so
the replacement must have them all. The installed library says which there are:

  STUBS  C source: a function for each symbol that the replacement does not implement. It says that it
         is not supported: an errno value where the public headers declare an int, null elsewhere.
  MAP    the version script.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

FUNCTION = 'TiW'
DATA = 'BDR'


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def installed(compiler, name):
    path = Path(run(*compiler, f'-print-file-name={name}').strip())
    if not path.is_absolute():
        sys.exit(f'{name} is not installed: run scripts/deps.sh (Debian package rdma-core, libibverbs-dev)')
    return path


def read_symbols(library):
    """(name, version, is default, kind, size) of each symbol, and the versions in order."""
    symbols, versions = [], []
    for line in run('nm', '-D', '-S', '--defined-only', str(library)).splitlines():
        fields = line.split()
        kind, name = fields[-2], fields[-1]
        if kind == 'A':
            versions.append(name)
            continue
        size = int(fields[1], 16) if len(fields) == 4 else 8
        base, _, version = name.partition('@')
        symbols.append((base, version.lstrip('@'), version.startswith('@'), kind, size))
    return symbols, sorted(versions, key=version_key)


def version_key(version):
    numbers = re.search(r'(\d+)\.(\d+)$', version)
    return (0, int(numbers[1]), int(numbers[2])) if numbers else (1, 0, 0)


def int_functions(headers):
    """Names that the public headers declare with an int result."""
    names = set()
    for header in headers:
        text = Path(header).read_text()
        names |= set(re.findall(r'^(?:static inline )?(?:int|ssize_t)\s+(\w+)\s*\(', text, re.M))
    return names


def implemented(archive):
    lines = run('nm', '-g', '--defined-only', archive).splitlines()
    return {line.split()[-1] for line in lines if len(line.split()) == 3}


def stub(name, returns_int, function):
    value = 'EOPNOTSUPP' if returns_int else '0'
    return (f'long {function}(void);\n'
            f'long {function}(void) {{ return unsupported("{name}", {value}); }}\n')


def write_stubs(path, symbols, have, ints):
    with open(path, 'w') as out:
        out.write('#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n'
                  'static long unsupported(const char *name, long value) {\n'
                  '  if (getenv("CONNECTX4_TRACE") != NULL)\n'
                  '    fprintf(stderr, "connectx4: %s is not supported\\n", name);\n'
                  '  errno = EOPNOTSUPP;\n'
                  '  return value;\n'
                  '}\n\n')
        for number, (name, version, default, kind, size) in enumerate(symbols):
            if kind in DATA:
                if name not in have:
                    out.write(f'char {name}[{size}];\n')
            elif kind not in FUNCTION:
                sys.exit(f'symbol {name}: unknown kind {kind}')
            elif not default:
                # An old version beside today's: nothing but its name can be given.
                function = f'old_{number}'
                out.write(stub(f'{name}@{version}', name in ints, function))
                out.write(f'__asm__(".symver {function}, {name}@{version}");\n')
            elif name not in have:
                out.write(stub(name, name in ints, name))


def exported(name, default):
    """A symbol in the version script. An old version must stand there as well, or `local: *` hides it; but as
    a pattern, since the definition without a version goes where its name itself stands."""
    return name if default else f'{name[:-1]}[{name[-1]}]'


def write_map(path, symbols, versions, private):
    with open(path, 'w') as out:
        before = ''
        for version in versions:
            names = sorted(exported(name, default) for name, of, default, *_ in symbols if of == version)
            out.write(f'{version} {{\n')
            if names:
                out.write('  global:\n' + ''.join(f'    {name};\n' for name in names))
            if not before:
                out.write('  local:\n    *;\n')
            numbered = version_key(version)[0] == 0
            out.write('}' + (f' {before}' if before and numbered else '') + ';\n')
            if numbered:
                before = version
        if private:
            out.write(f'CONNECTX4_PRIVATE {{\n  global:\n    {private};\n}};\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--library', required=True, help='file name of the installed library')
    parser.add_argument('--archive', required=True, help='static library with what is implemented')
    parser.add_argument('--header', action='append', default=[], help='public header')
    parser.add_argument('--private', default='', help='pattern of symbols exported besides')
    parser.add_argument('--stubs', required=True)
    parser.add_argument('--map', required=True)
    parser.add_argument('compiler', nargs='+')
    options = parser.parse_args()
    symbols, versions = read_symbols(installed(options.compiler, options.library))
    write_stubs(options.stubs, symbols, implemented(options.archive), int_functions(options.header))
    write_map(options.map, symbols, versions, options.private)


if __name__ == '__main__':
    main()
