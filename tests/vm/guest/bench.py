# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench.sh move on a machine with two nodes: that it measures; what it measures in a guest
means nothing."""
import json
import subprocess

import nearpmd
import rig
import tap

BENCH = rig.SOURCE / "tests/perf/move_bench.py"
RESULT = "/tmp/move.json"


def run():
    nearpmd.hugepages_on_both_nodes()
    done = subprocess.run(["python3", str(BENCH), "--seconds", "1", "--verdict", "tx", "--pool", "neither",
                           "--pool", "both", "--json", RESULT], capture_output=True, text=True,
                          check=False, timeout=2 * rig.DEADLINE)
    tap.check("bench.sh move runs", done.returncode == 0, done.stdout + done.stderr)
    tap.check("says what is measured and what is a model",
              done.stdout.startswith("MEASURED") and "\nMODEL, not a measurement" in done.stdout,
              done.stdout)
    with open(RESULT, encoding="utf-8") as file:
        rows = {row["pool"]: row for row in json.load(file)["measured"]}
    tap.check("rates near and far", all(row["near_mpps"] > 0 and row["far_mpps"] > 0
                                        for row in rows.values()), rows)
    tap.check("without following and refusing the pages stay behind",
              rows["neither"]["far_pages_percent"] > 90, rows)
    tap.check("with both they come along", rows["both"]["far_pages_percent"] < 10, rows)
