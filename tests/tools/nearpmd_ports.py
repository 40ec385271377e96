# SPDX-License-Identifier: BSD-3-Clause
"""What a scenario in Python runs nearpmd on that does not care; as nearpmd.sh has it for those in bash.
NEARPMD_PORTS says which: null, or connectx4, the genuine mlx5 driver on software ConnectX-4 ports."""
import os
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("NEARPOOL_BUILD", Path(__file__).resolve().parents[2] / "build"))
KIND = os.environ.get("NEARPMD_PORTS", "null")
HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")

if KIND == "connectx4":
    # Removed when the test ends.
    _base = tempfile.TemporaryDirectory(prefix="nearpool-test-")
    os.environ["CONNECTX4_BASE"] = _base.name
    _BELOW = [str(BUILD / "drivers/connectx4/launcher/connectx4"), "--netns", "--lossless", "on", "--"]
    _DEVICES = []
    SEED = ["--tx-first"]  # options with which frames go round
else:
    _BELOW = []
    _DEVICES = ["--no-pci", "--vdev=net_null0", "--vdev=net_null1"]
    SEED = []


def command_line(lcores, *options):
    """nearpmd with two ports that bring frames; `options` are its own, not the EAL's."""
    memory = "--in-memory" if HUGEPAGES.exists() and int(HUGEPAGES.read_text()) >= 128 else "--no-huge"
    return [*_BELOW, str(BUILD / "app/nearpmd/nearpmd"), f"--lcores={lcores}", "-m", "128", memory,
            f"--file-prefix=nearpool-test-{os.getpid()}", *_DEVICES, "--", *options]
