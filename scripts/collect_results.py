#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the test cases of one 'meson test' run and names what failed or was skipped.

    collect_results.py BUILD_DIR LOG_NAME [--suite NAME]

reads BUILD_DIR/meson-logs/LOG_NAME.json and, for each test of protocol gtest, the XML file that the
test wrote. Prints one line for each failure and skip on standard error, and 'PASSED FAILED SKIPPED'
on standard output.

The rule for every kind of test: a program that crashed, ran into its time limit, exited with
non-zero for no reason it reported, or reported no case at all, counts as one failed case more.
"""
import argparse
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

TAP_LINE = re.compile(r"(not ok|ok)\b\s*(\d+)?\s*-?\s*(.*)$")
TAP_PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.IGNORECASE)
TAP_SKIP = re.compile(r"\s*#\s*skip\S*\s*(.*)$", re.IGNORECASE)
SKIP_EXIT_CODE = 77
OUTPUT_LINES_SHOWN = 60


@dataclass
class Count:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)

    def cases(self):
        return self.passed + len(self.failed) + len(self.skipped)


def count_tap(text):
    count = Count()
    planned, reported = None, 0
    for line in text.splitlines():
        if line.startswith("Bail out!"):
            count.failed.append(line)
        plan = TAP_PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
            if planned == 0:
                count.skipped.append(f"everything: {plan.group(2) or 'no reason given'}")
        match = TAP_LINE.match(line)
        if not match:
            continue
        reported += 1
        verdict, _, name = match.groups()
        skip = TAP_SKIP.search(name)
        if verdict == "not ok":
            count.failed.append(name)
        elif skip:
            count.skipped.append(f"{name[:skip.start()]}: {skip.group(1) or 'no reason given'}")
        else:
            count.passed += 1
    if planned is None:
        count.failed.append("the script ended before it had printed its plan")
    elif planned != reported:
        count.failed.append(f"{planned} cases planned, {reported} reported")
    return count


def count_gtest(xml_text):
    count = Count()
    for case in ElementTree.fromstring(xml_text).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            count.failed.append(name)
        elif skipped is not None:
            lines = (skipped.get("message") or "").strip().splitlines()
            # The first line is the place, the others what the test said.
            count.skipped.append(f"{name}: {' '.join(lines[1:] or lines) or 'no reason given'}")
        elif case.get("status") == "notrun":
            count.skipped.append(f"{name}: disabled")
        else:
            count.passed += 1
    return count


def gtest_report(entry, test, build_dir):
    """The XML that this run of the test wrote, or None. An older file is not this run's."""
    # Where meson tells a test of protocol gtest to write.
    path = os.path.join(build_dir, test["workdir"] or "", test["name"] + ".xml")
    if os.path.exists(path) and os.path.getmtime(path) >= entry["starttime"] - 0.1:
        with open(path, encoding="utf-8", errors="replace") as report:
            return report.read()
    return None


def count_test(entry, test, build_dir):
    protocol = test["protocol"]
    good = entry["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
    if protocol == "tap":
        count = count_tap(entry["stdout"] or "")
    elif protocol == "gtest":
        report = gtest_report(entry, test, build_dir)
        try:
            count = count_gtest(report) if report else Count()
        except ElementTree.ParseError:
            count = Count()
    elif entry["returncode"] == SKIP_EXIT_CODE:
        return Count(skipped=["the program said so by exit code 77"])
    else:
        return Count(passed=1) if good else Count(
            failed=[f"ended with {entry['result']}, code {entry['returncode']}"])
    if entry["result"] == "TIMEOUT":
        count.failed.append(f"ran into its time limit after {entry['duration']:.0f} s")
    elif not good and not count.failed:
        count.failed.append(f"ended with {entry['result']}, code {entry['returncode']}, "
                            f"after {count.cases()} good cases")
    elif count.cases() == 0:
        count.failed.append("reported no case")
    return count


def read_log(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as log:
        return [json.loads(line) for line in log if line.strip()]


def show_output(entry):
    text = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    for line in text.splitlines()[-OUTPUT_LINES_SHOWN:]:
        print(f"    | {line}", file=sys.stderr)


def plain_name(name):
    """meson logs 'project:suite / name' where it introspects 'name'."""
    return name.rsplit(" / ", 1)[-1]


def main():
    parser = argparse.ArgumentParser(description="Counts the cases of one meson test run.")
    parser.add_argument("build_dir")
    parser.add_argument("log_name")
    parser.add_argument("--suite", help="the suite that was run: each of its tests has to be logged")
    arguments = parser.parse_args()

    with open(os.path.join(arguments.build_dir, "meson-info", "intro-tests.json"),
              encoding="utf-8") as file:
        tests = json.load(file)
    by_name = {test["name"]: test for test in tests}
    expected = {test["name"] for test in tests
                if any(suite.split(":")[-1] == arguments.suite for suite in test["suite"])}
    entries = read_log(os.path.join(arguments.build_dir, "meson-logs",
                                    arguments.log_name + ".json"))

    passed = failed = skipped = 0
    for entry in entries:
        name = plain_name(entry["name"])
        expected.discard(name)
        count = count_test(entry, by_name[name], arguments.build_dir)
        passed += count.passed
        failed += len(count.failed)
        skipped += len(count.skipped)
        for what in count.skipped:
            print(f"skipped: {name}: {what}", file=sys.stderr)
        for what in count.failed:
            print(f"FAILED: {name}: {what}", file=sys.stderr)
        if count.failed:
            show_output(entry)
    # The log knows a test by its name alone.
    for name in sorted({test["name"] for test in tests if by_name[test["name"]] is not test}):
        print(f"FAILED: {name}: two tests are called so; rename one", file=sys.stderr)
        failed += 1
    for name in sorted(expected):
        print(f"FAILED: {name}: was never run", file=sys.stderr)
        failed += 1
    if not entries and not expected:
        print(f"FAILED: suite {arguments.suite} has no tests", file=sys.stderr)
        failed += 1
    print(passed, failed, skipped)


if __name__ == "__main__":
    main()
