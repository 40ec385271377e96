#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/collect_results.py counts truthfully, above all what never reported anything."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tap

COLLECT = Path(__file__).resolve().parents[2] / "scripts" / "collect_results.py"
TWO_GOOD_ONE_SKIPPED = """<testsuites><testsuite name="S">
<testcase name="A" classname="S" status="run" result="completed"/>
<testcase name="B" classname="S" status="run" result="completed"/>
<testcase name="C" classname="S" status="run" result="skipped">
<skipped message="file.cpp:1&#x0A;no hugepages"/></testcase></testsuite></testsuites>"""
ONE_BAD = """<testsuites><testsuite name="S">
<testcase name="A" classname="S" status="run"><failure message="no"/></testcase>
<testcase name="B" classname="S" status="notrun" result="suppressed"/></testsuite></testsuites>"""


def collect(protocol, result, stdout="", code=0, xml=None, xml_age=0, logged=True,
            times=1):
    with tempfile.TemporaryDirectory() as directory:
        build = Path(directory)
        for name in ("meson-info", "meson-logs"):
            (build / name).mkdir()
        (build / "meson-info" / "intro-tests.json").write_text(json.dumps(
            [{"name": "t", "protocol": protocol, "suite": ["nearpool:unit"], "workdir": None}] * times))
        started = time.time()
        entry = {"name": "nearpool:unit / t", "stdout": stdout, "result": result,
                 "starttime": started, "duration": 1.0, "returncode": code, "command": ["t"]}
        (build / "meson-logs" / "unit.json").write_text(
            json.dumps(entry) + "\n" if logged else "")
        if xml:
            (build / "t.xml").write_text(xml)
            os.utime(build / "t.xml", (started - xml_age, started - xml_age))
        run = subprocess.run([sys.executable, COLLECT, build, "unit", "--suite", "unit"], text=True,
                             capture_output=True, check=False)
        return run.stdout.strip(), run.stderr


def expect(name, counts, words, *arguments, **options):
    got, said = collect(*arguments, **options)
    tap.check(name, got == counts and words in said, f"counted {got}, said: {said}")


expect("two tests of one name are a failure", "1 1 0", "t: two tests are called so", "exitcode", "OK",
       times=2)
expect("gtest cases are counted", "2 0 1", "S.C: no hugepages", "gtest", "OK",
       xml=TWO_GOOD_ONE_SKIPPED)
expect("a failed and a disabled gtest case", "0 1 1", "FAILED: t: S.A", "gtest", "FAIL", code=1,
       xml=ONE_BAD)
expect("a gtest program that crashed", "0 1 0", "code -11", "gtest", "FAIL", code=-11)
expect("one that crashed after its report", "2 1 1", "code -6", "gtest", "FAIL", code=-6,
       xml=TWO_GOOD_ONE_SKIPPED)
expect("a report of an earlier run is not taken", "0 1 0", "code -11", "gtest", "FAIL", code=-11,
       xml=TWO_GOOD_ONE_SKIPPED, xml_age=60)
expect("a gtest program without cases", "0 1 0", "reported no case", "gtest", "OK",
       xml="<testsuites/>")
expect("half a report", "0 1 0", "reported no case", "gtest", "OK", xml=ONE_BAD[:60])
expect("a time limit", "0 1 0", "time limit", "gtest", "TIMEOUT", code=-15)
expect("scenarios are counted", "1 1 1", "b: no root", "tap", "FAIL",
       "ok 1 - a\nok 2 - b # SKIP no root\nnot ok 3 - c\n1..3\n")
expect("a script that stopped half way", "1 1 0", "before it had printed its plan", "tap", "OK",
       "ok 1 - a\n")
expect("a script that planned more than it ran", "1 1 0", "2 cases planned, 1 reported", "tap",
       "ERROR", "1..2\nok 1 - a\n")
expect("a script that ended badly after good cases", "1 1 0", "code 3", "tap", "ERROR",
       "ok 1 - a\n1..1\n", code=3)
expect("a script that bailed out", "1 1 0", "Bail out!", "tap", "ERROR",
       "1..1\nok 1 - a\nBail out! no more\n")
expect("a script that skips everything", "0 0 1", "no qemu", "tap", "SKIP", "1..0 # SKIP no qemu\n")
expect("a plain program", "1 0 0", "", "exitcode", "OK")
expect("a plain program that failed", "0 1 0", "code 1", "exitcode", "FAIL", code=1)
expect("one that has to fail and does", "1 0 0", "", "exitcode", "EXPECTEDFAIL", code=66)
expect("one that has to fail and does not", "0 1 0", "UNEXPECTEDPASS", "exitcode",
       "UNEXPECTEDPASS")
expect("a plain program that skips", "0 0 1", "77", "exitcode", "SKIP", code=77)
expect("a test that was never run", "0 1 0", "never run", "gtest", "OK", logged=False)
sys.exit(tap.done())
