#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small client of DPDK's telemetry socket, which is independent of dpdk-telemetry.py.

    telemetry.py SOCKET COMMAND...        prints the answer to each command as a line of JSON
    telemetry.py --hammer SECONDS SOCKET  asks for all pools, arenas and queues there are, again and
                                          again, and checks that each answer holds together
"""
import json
import socket
import sys
import time


class Telemetry:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.room = json.loads(self.socket.recv(4096))["max_output_len"]

    def ask(self, command):
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(self.room))[command.split(",")[0]]


def look_at_all(telemetry):
    """Asks for everything; returns how many pools answered."""
    pools = 0
    for number in telemetry.ask("/page_pool/list"):
        info = telemetry.ask(f"/page_pool/info,{number}")
        stats = telemetry.ask(f"/page_pool/stats,{number}")
        if info is None or stats is None:
            continue  # gone since it was listed
        # DPDK takes requests apart with strtok(), so another client's question may be answered.
        if not info["id"] == stats["id"] == number:
            continue
        assert info["kind"] in ("queue", "shared"), info
        assert stats["owned"] == sum(stats["owned_node"].values()) or info["kind"] == "queue", stats
        held = stats["cached"] + stats["stashed"] + stats.get("ringed", 0)
        assert stats["owned"] == held + stats["inflight"], stats
        pools += 1
    for node in telemetry.ask("/page_arena/list"):
        info = telemetry.ask(f"/page_arena/info,{node}")
        if info is not None:
            assert info["free"] <= info["pages"], info
            assert info["pages"] == sum(arena["pages"] for arena in info["arenas"].values()), info
    for queue in (telemetry.ask("/nearpmd/queues") or {}).values():
        assert queue["pool"] and queue["owned"] <= queue["quota"], queue
    return pools


def main():
    if sys.argv[1] == "--hammer":
        end = time.monotonic() + float(sys.argv[2])
        rounds = pools = 0
        while time.monotonic() < end:
            telemetry = Telemetry(sys.argv[3])  # a thread of the library's for each connection
            pools += look_at_all(telemetry)
            rounds += 1
            telemetry.socket.close()
        print(f"{rounds} rounds, {pools} pools looked at")
        return 0 if pools else 1
    telemetry = Telemetry(sys.argv[1])
    for command in sys.argv[2:]:
        print(json.dumps(telemetry.ask(command)))
    return 0


sys.exit(main())
