#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Prometheus exporter beside a running nearpmd, and the Grafana dashboard's metric names."""
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

SOURCE = os.environ["NEARPOOL_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests/tools"))
import tap  # noqa: E402

NEARPMD = os.path.join(os.environ["NEARPOOL_BUILD"], "app/nearpmd/nearpmd")
EXPORTER = os.path.join(SOURCE, "config/prometheus/nearpool-exporter")
DASHBOARD = os.path.join(SOURCE, "config/grafana/nearpool.json")
PREFIX = f"nearpool-exporter-{os.getpid()}"
DEADLINE = 90

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = rf'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+]+)")


def parse(text):
    """Samples as {name: {labels: value}}; raises ValueError where Prometheus would refuse."""
    samples, kinds, helps, current = {}, {}, set(), None
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            if current in helps or not line.split(" ", 3)[3]:
                raise ValueError(f"{current}: help twice or empty")
            helps.add(current)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name != current or name in kinds or kind not in ("gauge", "counter"):
                raise ValueError(line)
            if (kind == "counter") != name.endswith("_total"):
                raise ValueError(f"{name}: counters end in _total, and they alone")
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            if not match or match[1] != current or match[1] not in kinds:
                raise ValueError(f"not a sample of {current}: {line}")
            labels = tuple(sorted(re.findall(LABEL, match[2] or "")))
            of_name = samples.setdefault(match[1], {})
            if labels in of_name:
                raise ValueError(f"twice: {line}")
            of_name[labels] = float(match[3])
    return samples


def value(samples, name, **labels):
    wanted = {f'{key}="{text}"' for key, text in labels.items()}
    found = [v for had, v in samples.get(name, {}).items() if wanted <= set(had)]
    return found[0] if len(found) == 1 else None


def once(*where):
    result = subprocess.run([sys.executable, EXPORTER, *(where or ("--file-prefix", PREFIX)), "--once"],
                            capture_output=True, text=True, timeout=DEADLINE)
    return result.returncode, result.stdout


def until(found):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        code, text = once()
        if code == 0 and found(parse(text)):
            return text
        time.sleep(0.1)
    return text


def check_dashboard(samples):
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    used = set(re.findall(r"nearpool_[a-z0-9_]+", json.dumps(dashboard)))
    tap.check("the dashboard uses metrics", len(used) > 15, used)
    tap.check("all of which the exporter has", used <= set(samples), used - set(samples))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    wrong = []
    for target in targets:
        for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
            names = re.findall(r"nearpool_[a-z0-9_]+", target["expr"])
            if not all(f'{label}="' in str(list(samples[name])) for name in names):
                wrong.append((label, target["expr"]))
    tap.check("and the labels its legends show", not wrong, wrong)
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    tap.check("no two panels in one place", len(set(places)) == len(places))


def check_escapes():
    loader = importlib.machinery.SourceFileLoader("exporter", EXPORTER)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("exporter", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    metrics = module.Metrics()
    metrics.add("pages", "gauge", "Pages.", 1, pool='a"b\\c\nd')
    metrics.add("none", "gauge", "Nothing.", None)
    tap.check("labels are escaped", list(parse(metrics.text())["nearpool_pages"]) ==
              [(r'pool="a\"b\\c\nd"',)], metrics.text())
    tap.check("what there is not has no sample", "none" not in metrics.text())


def check_server(program):
    server = subprocess.Popen([sys.executable, EXPORTER, "--file-prefix", PREFIX, "--port", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
            kind, text = answer.headers["Content-Type"], answer.read().decode()
        tap.check("scraped over HTTP", kind.startswith("text/plain; version=0.0.4"), kind)
        tap.check("with the program up", value(parse(text), "nearpool_up") == 1, text[:500])
        try:
            urllib.request.urlopen(url.replace("/metrics", "/other"), timeout=DEADLINE)
            tap.check("nothing else is served", False)
        except urllib.error.HTTPError as error:
            tap.check("nothing else is served", error.code == 404, error)
        program.send_signal(signal.SIGINT)
        tap.check("nearpmd ends well", program.wait(DEADLINE) == 0)
        with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
            text = answer.read().decode()
        tap.check("without the program nearpool_up is 0", parse(text) == {"nearpool_up": {(): 0.0}},
                  text)
    finally:
        server.kill()
        server.wait()


class Confused:
    """A telemetry socket with another client's questions mixed in, as DPDK's strtok() allows. Pools 1
    to 4 own ten pages for each number; what becomes of a question is told by `confuse`, which gets the
    command, its parameter and how often it was asked before, and says for which one to answer."""

    def __init__(self, path, confuse):
        self.confuse = confuse
        self.asked = {}
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        client, _ = self.listener.accept()
        with client:
            client.send(b'{"version":"DPDK 22.11.11","pid":1,"max_output_len":16384}')
            while request := client.recv(1024).decode():
                command, _, parameter = request.partition(",")
                before = self.asked.get(request, 0)
                self.asked[request] = before + 1
                parameter = self.confuse(command, parameter, before)
                client.send(json.dumps({command: self.answer(command, parameter)}).encode())

    @staticmethod
    def answer(command, parameter):
        if command == "/page_pool/list":
            return [1, 2, 3, 4]
        if command == "/page_arena/list":
            return [0, 1]
        if command == "/nearpmd/queues":
            start = tuple(int(word) for word in parameter.split(","))
            return {f"0/{queue}": {"port": 0, "queue": queue, "device": "d", "pool_id": queue + 1,
                                   "lcore": 1, "lcore_node": 0, "received": queue, "forwarded": 0,
                                   "dropped": 0}
                    for queue in range(4) if (0, queue) >= start and queue < start[1] + 2}
        if not parameter:
            return None
        number = int(parameter)
        if command == "/page_pool/info":
            return {"id": number, "name": f"pool{number}"}
        if command == "/page_pool/stats":
            return {"id": number, "owned": 10 * number, "owned_node": {"0": 10 * number}}
        if command == "/page_arena/info":
            state = {name: number for name in
                     ("pages", "free", "min", "low", "high", "pressure_out", "misplaced", "asking",
                      "pressure_taken", "fallback_taken", "below_low", "below_min")}
            return {"node": number, "arenas": {"a": state}}
        return None


def check_confused():
    def sometimes(command, parameter, before):
        if before == 0 and command in ("/page_pool/info", "/page_pool/stats", "/page_arena/info"):
            return "2" if parameter == "1" else ""  # another's, or none
        if before == 0 and command == "/nearpmd/queues" and parameter != "0,0":
            return "0,0"
        return parameter

    def always(command, parameter, _):
        if command.startswith("/page_pool/") and parameter in ("3", "4"):
            return "1"
        if command == "/nearpmd/queues":
            return "0,0"
        return parameter

    pools = [f"pool{number}" for number in (1, 2, 3, 4)]
    for name, confuse, known in (("now and then", sometimes, pools), ("all the time", always, pools[:2])):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "socket")
            Confused(path, confuse)
            code, text = once("--socket", path)
            samples = parse(text)
        owned = {pool: value(samples, "nearpool_pool_owned_pages", pool=pool) for pool in pools}
        tap.check(f"others ask {name}: pools have their own pages or are left out", code == 0 and owned ==
                  {pool: 10.0 * int(pool[-1]) if pool in known else None for pool in pools}, owned)
        tap.check(f"others ask {name}: nodes likewise", [value(samples, "nearpool_node_pages", node=node)
                                                         for node in (0, 1)] == [0.0, 1.0], text)
        received = samples.get("nearpool_queue_received_frames_total", {})
        tap.check(f"others ask {name}: each queue once, and there is an end",
                  sorted(received.values()) == [0.0, 1.0, 2.0, 3.0][:len(known)], received)


def main():
    program = subprocess.Popen(
        [NEARPMD, "--lcores=0@0,1@1,2@0", "-m", "128", "--no-pci", "--in-memory",
         f"--file-prefix={PREFIX}", "--vdev=net_null0", "--vdev=net_null1", "--",
         "--numa-map=1:0,2:1", "--rxq=1", "--total-num-pages=10240"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        text = until(lambda samples: value(samples, "nearpool_queue_received_frames_total",
                                           port=1, queue=0))
        try:
            samples = parse(text)
            tap.check("it is what Prometheus reads", True)
        except ValueError as error:
            samples = {}
            tap.check("it is what Prometheus reads", False, error)
        for port in (0, 1):
            tap.check(f"queue {port} 0 receives", (value(
                samples, "nearpool_queue_received_frames_total", port=port, queue=0) or 0) > 0, text)
        states = [value(samples, "nearpool_pool_pages", pool="p0q0", port=0, queue=0, state=state)
                  for state in ("cached", "stashed", "ringed", "inflight")]
        tap.check("where a pool's pages are: in all, what it owns", None not in states and sum(states)
                  == value(samples, "nearpool_pool_owned_pages", pool="p0q0"), states)
        for node in (0, 1):
            tap.check(f"node {node}: pages", (value(samples, "nearpool_node_pages", arena="nearpmd",
                                                    node=node) or 0) >= 10240)
        tap.check("ports, as devices count", (value(samples, "nearpool_port_rx_frames_total", port=0)
                                              or 0) > 0)
        check_dashboard(samples)
        check_escapes()
        check_confused()
        check_server(program)
    finally:
        program.kill()
        program.wait()
    return tap.done()


sys.exit(main())
