#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fuzz.py NAME FUZZER SEEDS [DICTIONARY]: runs a libFuzzer program for ten minutes, in CI for one.

SEEDS is a directory of first inputs; 'sizes' stands for blocks of 0 to 64 bytes."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import tap  # noqa: E402

SECONDS = int(os.environ.get("NEARPOOL_FUZZ_SECONDS",
                             60 if os.environ.get("CI") == "true" else 600))
name, fuzzer, seeds = sys.argv[1:4]

with tempfile.TemporaryDirectory() as directory:
    corpus = Path(directory, "corpus")
    corpus.mkdir()
    if seeds == "sizes":
        for size in range(65):
            # An Ethernet type of IPv4 where there is one, so that the first step is taken.
            block = (b"\x02" * 12 + b"\x08\x00" + b"\x45" + b"\x00" * 49)[:size]
            Path(corpus, f"size{size}").write_bytes(block)
    else:
        for seed in Path(seeds).iterdir():
            Path(corpus, seed.name).write_bytes(seed.read_bytes())
    command = [fuzzer, str(corpus), f"-max_total_time={SECONDS}", "-seed=1", "-max_len=4096",
               "-timeout=10", "-print_final_stats=1", f"-artifact_prefix={directory}/"]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    executed = [line.split()[-1] for line in run.stderr.splitlines()
                if line.startswith("stat::number_of_executed_units")]
    tap.check(f"{name}: nothing found in {SECONDS} s", run.returncode == 0,
              "\n".join(run.stderr.splitlines()[-60:]))
    tap.check(f"{name}: it ran ({''.join(executed)} inputs)", executed and int(executed[0]) >= SECONDS)
sys.exit(tap.done())
