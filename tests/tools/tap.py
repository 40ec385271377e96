# SPDX-License-Identifier: BSD-3-Clause
"""Results of a test script as TAP lines. A script ends with sys.exit(tap.done())."""

_results = []


def check(name, good, detail=None):
    _results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(_results)} - {name}", flush=True)
    if not good and detail is not None:
        for line in str(detail).splitlines():
            print(f"# {line}", flush=True)
    return bool(good)


def skip(name, why):
    _results.append(True)
    print(f"ok {len(_results)} - {name} # SKIP {why}", flush=True)


def done():
    """Prints the plan; 0 when nothing failed."""
    print(f"1..{len(_results)}", flush=True)
    return 0 if all(_results) else 1
