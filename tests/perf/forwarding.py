# SPDX-License-Identifier: BSD-3-Clause
"""What the forwarding benchmarks share: programs driven at their prompts, rates, medians."""
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(os.environ.get("NEARPOOL_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("NEARPOOL_BUILD", ROOT / "build"))
NEARPMD = BUILD / "app/nearpmd/nearpmd"
PLUGIN = BUILD / "drivers/mempool/page_pool/librte_mempool_page_pool.so.1"
DEADLINE = 60  # seconds for an answer


class Program:
    """A program at whose prompt commands are typed."""

    def __init__(self, command):
        # Reader and writer share one position in the file, so it is read without moving that.
        self.output = tempfile.TemporaryFile()
        environment = dict(os.environ, LD_LIBRARY_PATH=str(PLUGIN.parent))
        # In a directory without the plugin: the EAL takes a bare name through LD_LIBRARY_PATH, but
        # refuses a path that others may write to.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.output,
                                        stderr=subprocess.STDOUT, env=environment, cwd="/")
        self.read_up_to = 0

    def text(self):
        descriptor = self.output.fileno()
        unread = os.fstat(descriptor).st_size - self.read_up_to
        return os.pread(descriptor, unread, self.read_up_to).decode(errors="replace")

    def ask(self, command, pattern, times=1):
        """Types a command and waits for `times` matches of the pattern after it."""
        self.read_up_to = os.fstat(self.output.fileno()).st_size
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            found = re.findall(pattern, self.text())
            if len(found) >= times:
                return found, time.monotonic()
            if self.process.poll() is not None:
                break
            time.sleep(0.002)
        self.read_up_to = 0
        raise RuntimeError(f"no answer to '{command}':\n{self.text()[-3000:]}")

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.write(b"stop\nquit\n")
            self.process.stdin.close()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()


def cpu_times(pid):
    """CPU time in seconds, by thread."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        times[task.name] = int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return times


def wait(pid, seconds, events, counts):
    """Lets time pass; adds what perf counted of the events meanwhile, where the machine can count."""
    if not events or shutil.which("perf") is None:
        time.sleep(seconds)
        return
    run = subprocess.run(["perf", "stat", "-x,", "-e", ",".join(events), "-p", str(pid), "--",
                          "sleep", str(seconds)], capture_output=True, text=True, check=False)
    for line in run.stderr.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit():
            counts[fields[2]] = int(fields[0])


def rate(command, ports, direction, seconds, events=(), per_frame=None):
    """Millions of frames of all ports, received ("RX") or sent ("TX"), a second of the busiest
    lcore's own CPU time: it polls all the time, and what else runs on the machine counts less so.

    per_frame takes up the counts of the events per frame, of those that could be counted."""
    counts = {}
    program = Program(command)
    try:
        program.ask("start", r"packet forwarding - |nearpmd> start")
        time.sleep(seconds / 4)  # caches and clocks get warm
        pattern = direction + r"-packets:?\s+(\d+)"
        before, _ = program.ask("show port stats all", pattern, ports)
        begin = cpu_times(program.process.pid)
        wait(program.process.pid, seconds, events, counts)
        after, _ = program.ask("show port stats all", pattern, ports)
        end = cpu_times(program.process.pid)
    finally:
        program.close()
    frames = sum(map(int, after)) - sum(map(int, before))
    if per_frame is not None and frames > 0:
        per_frame.update({name: count / frames for name, count in counts.items()})
    seconds = max(time_now - begin.get(task, 0) for task, time_now in end.items())
    return frames / seconds / 1e6


def eal(lcores, megabytes, vdevs):
    arguments = ["--lcores", lcores, "-m", str(megabytes), "--in-memory", "--no-pci",
                 f"--file-prefix=nearpool-bench-{os.getpid()}"]
    return arguments + [f"--vdev={vdev}" for vdev in vdevs]


class Distance:
    """How far apart two CPUs are, in nanoseconds there and back; see core_distance.hpp."""

    NEAR = 2.5  # times the least seen
    TRIES = 5   # of a job, before it counts although the CPUs were apart

    def __init__(self, cpus):
        self.cpus = [str(cpu) for cpu in cpus]
        self.seen = []

    def look(self):
        run = subprocess.run([str(BUILD / "tests/perf/core_distance"), *self.cpus], capture_output=True,
                             text=True, check=False)
        if run.returncode == 0:
            self.seen.append(float(run.stdout))
        return self.seen[-1] if run.returncode == 0 else 0.0

    def measure(self, job):
        """@return what the job returns, and how far apart the CPUs were at most; measured again if the
        host has put them apart meanwhile."""
        before = self.look()
        for _ in range(self.TRIES):
            value = job()
            after = self.look()
            farthest, before = max(before, after), after
            if farthest <= self.NEAR * min(self.seen, default=0):
                break
        return value, farthest

    def summary(self, farthest):
        """@param farthest: of each figure that counts"""
        if not self.seen:
            return f"CPUs {' and '.join(self.cpus)}: how far apart they are is unmeasured"
        apart = sum(distance > self.NEAR * min(self.seen) for distance in farthest)
        return (f"CPUs {' and '.join(self.cpus)}: a cache line takes {min(self.seen):.0f} to {max(self.seen):.0f} ns "
                f"there and back; {apart} of {len(farthest)} figures were measured while they were apart")


def measure(jobs, rounds, cpus=None):
    """jobs: name to a function that measures once. In turn, several rounds: medians by name.

    cpus: the two that hand frames to each other; figures are of rounds in which they were near each
    other as far as they can be had."""
    seen = {name: [] for name in jobs}
    distance = Distance(cpus) if cpus else None
    farthest = []
    for number in range(rounds):
        for name, job in jobs.items():
            value, apart = distance.measure(job) if distance else (job(), 0.0)
            seen[name].append(value)
            farthest.append(apart)
            print(f"# round {number + 1}: {name}: {value:.2f} Mpps"
                  + (f", CPUs {apart:.0f} ns apart" if distance else ""), flush=True)
    if distance:
        print(distance.summary(farthest))
    return {name: statistics.median(values) for name, values in seen.items()}


def write(path, results):
    if path:
        Path(path).write_text(json.dumps({"results": results}, indent=1) + "\n", encoding="utf-8")
