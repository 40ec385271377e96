#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Prometheus exporter beside a running nearpmd, and the Grafana dashboard's metric names."""
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
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


def once():
    result = subprocess.run([sys.executable, EXPORTER, "--file-prefix", PREFIX, "--once"],
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
        check_server(program)
    finally:
        program.kill()
        program.wait()
    return tap.done()


sys.exit(main())
