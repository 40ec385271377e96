#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The launcher: what a program finds, what it gets of signals, and what is left when it is gone."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import rig  # noqa: E402
import tap  # noqa: E402

if os.geteuid() != 0:
    tap.skip("the launcher", "needs root for tap interfaces")
    sys.exit(tap.done())


def runs():
    return sorted(path.name for path in rig.BASE.glob("[0-9]*"))


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] == "Z"


# Exit status and environment.
result = rig.run(["--ports", "1"], ["sh", "-c", "exit 7"])
tap.check("the exit status is the program's", result.returncode == 7, result)
result = rig.run(["--ports", "1"], ["sh", "-c", "kill -TERM $$"])
tap.check("so is the signal that ends it", result.returncode == -signal.SIGTERM, result)
result = rig.run(["--ports", "1"], ["no-such-program"])
tap.check("a program that is not there is named",
          result.returncode == 125 and "cannot run no-such-program" in result.stderr, result)
result = rig.run(["--ports", "3", "--numa-node", "0,1,-1"], ["sh", "-c", """
  cat $SYSFS_PCI_DEVICES/*/numa_node; ls $SYSFS_PCI_DEVICES $CONNECTX4_DIR/ibdev; ip -o link"""])
said = result.stdout.split()
tap.check("each port says its node", said[:3] == ["0", "1", "-1"], result)
tap.check("two functions to a card", all(name in said for name in (
    "0000:81:00.0", "0000:81:00.1", "0000:81:01.0", "mlx5_2")), result)
tap.check("each has its netdev, up", all(f"cx0p{port}:" in said for port in range(3)) and
          result.stdout.count(",UP") >= 3, result)
tap.check("nothing is left of all these", runs() == [], runs())

# Signals.
program = rig.Program(["--ports", "1"], ["sh", "-c", """
  trap 'echo one; exit 9' USR1; echo ready; while :; do sleep 0.05; done"""])
program.expect("ready")
program.process.send_signal(signal.SIGUSR1)
tap.check("a signal to the launcher reaches the program",
          program.finish() == 9 and "one" in program.output, program.output)
program = rig.Program(["--ports", "1"], ["sh", "-c", "echo ready; exec sleep 600"])
program.expect("ready")
program.process.send_signal(signal.SIGTERM)
tap.check("SIGTERM ends both", program.finish() == -signal.SIGTERM, program.output)
tap.check("and all is cleaned up after it", runs() == [], runs())

# A terminal's ^C before there is a program: making three hundred interfaces takes a while.
child, terminal = pty.fork()
if child == 0:
    os.execve(rig.LAUNCHER, rig.command_line(["--ports", "300"], ["sleep", "1000"]), rig.ENVIRONMENT)
rig.wait_until(lambda: runs() != [])
os.write(terminal, b"\x03")
ended = (0, 0)


def is_over():
    global ended
    if select.select([terminal], [], [], 0)[0]:  # what it says must not fill the terminal
        try:
            os.read(terminal, 65536)
        except OSError:
            pass
    ended = os.waitpid(child, os.WNOHANG)
    return ended != (0, 0)


if not rig.wait_until(is_over):
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
os.close(terminal)
tap.check("^C while it lays out ends it", os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) == signal.SIGINT, ended)
tap.check("and nothing is left", runs() == [], runs())


# Who starts it may ignore the end of children; the launcher is told of them all the same.
def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


try:
    # Not a shell: it would change that itself.
    result = rig.run(["--ports", "1"], [sys.executable, "-c", "import signal, sys; "
                                        "print(signal.getsignal(signal.SIGCHLD)); sys.exit(7)"],
                     preexec_fn=ignore_children)
    tap.check("SIGCHLD may be ignored from the start", result.returncode == 7, result)
    tap.check("and is, in the program", result.stdout.strip() in ("Handlers.SIG_IGN", "1"), result)
except subprocess.TimeoutExpired as hung:
    tap.check("SIGCHLD may be ignored from the start", False, hung)

# Several at once.
first = rig.Program(["--ports", "1"], ["sh", "-c", "echo in $CONNECTX4_DIR; read line"])
second = rig.Program(["--ports", "1"], ["sh", "-c", "echo in $CONNECTX4_DIR; read line"])
both = first.expect("in ") and second.expect("in ")
tap.check("two runs have a place each", both and first.output != second.output and len(runs()) == 2,
          first.output + second.output)
statuses = [first.finish("go"), second.finish("go")]
tap.check("and end each by itself", statuses == [0, 0] and runs() == [], (statuses, runs()))

# A crash.
program = rig.Program(["--ports", "2"], ["sh", "-c", "echo pid $$; exec sleep 600"])
program.expect(r"pid \d+\n")
child = int(program.output.split()[1])
program.process.kill()
program.process.wait()
tap.check("a killed launcher takes the program along", rig.wait_until(lambda: gone(child)), child)
tap.check("what it leaves is found", runs() == ["0"], runs())
result = rig.run(["--ports", "1"], ["sh", "-c", "echo $CONNECTX4_DIR"])
tap.check("and taken away by the next start",
          result.stdout.strip().endswith("/0") and runs() == [], (result, runs()))
# Without a namespace of its own the interfaces would stay: here the test's namespace is the outer one.
script = f"""
  export CONNECTX4_BASE={rig.BASE}
  {rig.LAUNCHER} --ports 2 -- sleep 600 & launcher=$!
  while ! ip link show cx0p1 >/dev/null 2>&1; do sleep 0.02; done
  kill -9 $launcher; wait $launcher
  ip -o link | grep -c cx0p
  while ! flock -n {rig.BASE}/0/lock true; do sleep 0.02; done
  {rig.LAUNCHER} --ports 1 -- true
  ip -o link | grep -c cx0p"""
result = subprocess.run(["unshare", "-n", "bash", "-c", script], text=True, capture_output=True,
                        timeout=rig.DEADLINE, check=False)
tap.check("interfaces of a killed run are removed as well", result.stdout.split() == ["2", "0"], result)

# Runs in one network namespace that know nothing of each other: their base directories differ.
script = f"""
  first() {{ CONNECTX4_BASE={rig.WORK}/first {rig.LAUNCHER} --ports 1 -- "$@"; }}
  second() {{ CONNECTX4_BASE={rig.WORK}/second {rig.LAUNCHER} --ports 1 -- "$@"; }}
  mkfifo {rig.WORK}/go; exec 3<>{rig.WORK}/go
  first sh -c 'read line <{rig.WORK}/go' & run=$!
  while ! ip link show cx0p0 >/dev/null 2>&1; do sleep 0.02; done
  second sh -c 'ip -o link | grep -o "cx[0-9]p0" | sort | uniq | xargs echo two:'
  ip -o link | grep -o "cx[0-9]p0" | uniq | xargs echo left:
  echo go >&3; wait $run
  ip -o link | grep -o "cx[0-9]p0" | uniq | xargs echo none:"""
result = subprocess.run(["unshare", "-n", "bash", "-c", script], text=True, capture_output=True,
                        timeout=rig.DEADLINE, check=False)
tap.check("runs with other base directories have interfaces of their own",
          "two: cx0p0 cx1p0" in result.stdout, result)
tap.check("and each takes only its own away", "left: cx0p0\n" in result.stdout and
          "none:\n" in result.stdout, result)
# A run is killed in one namespace; another one has an interface of that name in a second namespace,
# where the dead one's base directory is cleaned up.
script = f"""
  CONNECTX4_BASE={rig.WORK}/dead {rig.LAUNCHER} --ports 1 -- sleep 600 & run=$!
  while ! ip link show cx0p0 >/dev/null 2>&1; do sleep 0.02; done
  kill -9 $run; wait $run
  while ! flock -n {rig.WORK}/dead/0/lock true; do sleep 0.02; done
  unshare -n bash -c '
    CONNECTX4_BASE={rig.WORK}/alive {rig.LAUNCHER} --ports 1 -- sh -c "
      CONNECTX4_BASE={rig.WORK}/dead {rig.LAUNCHER} --ports 1 -- true; ip -o link | grep -c cx0p0"'
  ls {rig.WORK}/dead | grep -c '^[0-9]'"""
result = subprocess.run(["unshare", "-n", "bash", "-c", script], text=True, capture_output=True,
                        timeout=rig.DEADLINE, check=False)
tap.check("cleaning up after a dead run takes no other's interface", result.stdout.split() == ["1", "0"],
          result)

# What cannot be understood.
for options, words in (
        (["--ports", "0"], "must be a number from 1"),
        (["--wire", "string"], "must be peer, loop, tap, pcap"),
        (["--wire", "7=loop"], "there is no port 7, only 0 to 1"),
        (["--rate", "fast"], "5Mpps, 10Gbps"),
        (["--loss", "2"], "must be a share from 0 to 1"),
        (["--fault", "melt"], "the kind must be rx-error"),
        (["--numa-node", "0,1,2"], "one for each of the 2"),
        (["--threads", "many"], "must be shared"),
        (["--cpus", "x"], "must be a list of CPUs")):
    result = rig.run(options, ["true"])
    tap.check(f"{' '.join(options)} is refused with a sentence",
              result.returncode == 2 and words in result.stderr, result)
result = rig.run(["--colour"], ["true"])
tap.check("an option that is not known is an error", result.returncode not in (0, 125), result)
result = subprocess.run([str(rig.LAUNCHER), "--netns", "--ports", "1", "sh", "-c", "exit 5", "--", "--ports"],
                        env=rig.ENVIRONMENT, capture_output=True, timeout=rig.DEADLINE, check=False)
tap.check("a command needs no dashes before it", result.returncode == 5, result)
result = rig.run(["--ports", "1"], ["readlink", "/proc/self/ns/net"])
tap.check("the netdevs can have a namespace of their own",
          result.stdout.strip() not in ("", os.readlink("/proc/self/ns/net")), result)
result = subprocess.run([str(rig.LAUNCHER), "--join", "77", "--", "true"], env=rig.ENVIRONMENT, text=True,
                        capture_output=True, timeout=rig.DEADLINE, check=False)
tap.check("so is a run that is not there",
          result.returncode == 125 and "there is no run 77" in result.stderr, result)

# Where device threads run, how many there may be, and ports that are on no node.
def device_threads(running):
    found = {}
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text(encoding="utf-8")
    for task in Path(f"/proc/{children.split()[0]}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text(encoding="utf-8").splitlines()
                      if ":\t" in line)
        if re.fullmatch(r"connectx4-\d+", status["Name"]):
            found[status["Name"]] = status["Cpus_allowed_list"]
    return found


for options, wanted in ((["--cpus", "1"], {"connectx4-0": "1"}),
                        (["--threads", "port", "--cpus", "1,0"], {"connectx4-0": "1", "connectx4-1": "0"}),
                        (["--threads", "port", "--numa-node", "-1"], None)):
    program = rig.testpmd(["--ports", "2", "--lossless", "on", *options], ["--forward-mode=io"])
    threads = device_threads(program)
    tap.check(f"device threads with {' '.join(options)}",
              threads == wanted if wanted else sorted(threads) == ["connectx4-0", "connectx4-1"], threads)
    program.send("start tx_first")
    tap.check("testpmd forwards on them", program.expect("io packet forwarding"), program.output[-1000:])
    program.send("stop")
    tap.check("and ends", program.finish("quit") == 0, program.output[-1000:])
# As many as DPDK takes; the launcher takes more.
result = rig.run(["--ports", "100"], ["sh", "-c", "ls $SYSFS_PCI_DEVICES | wc -l; ip -o link | grep -c cx0p"])
tap.check("a hundred ports", result.stdout.split() == ["100", "100"] and runs() == [], result)
program = rig.testpmd(["--ports", "32"], ["--total-num-mbufs=16384", "--rxd=128", "--txd=128"], eal=("-m", "192"))
tap.check("thirty-two in one program", program.ask("show port summary all", r"\n31 +02:C4:00:00:00:1F .*up") is not None,
          program.output[-2000:])
tap.check("which ends well", program.finish("quit") == 0, program.output[-1000:])

# A secondary process reads the statistics of the primary.
huge = rig.WORK / "huge"
huge.mkdir()
primary = rig.testpmd(["--ports", "2"], ["--forward-mode=io"], memory=(f"--huge-dir={huge}",), before=(
    "unshare", "-m", "sh", "-c", f'mount -t hugetlbfs none {huge} && exec "$0" "$@"'))
primary.send("start tx_first 2")
primary.expect("io packet forwarding")
time.sleep(0.1)  # some traffic; how much does not matter
secondary = subprocess.run(
    ["nsenter", "-t", str(primary.process.pid), "-m", "-n", str(rig.LAUNCHER), "--join", "0", "--",
     "dpdk-proc-info", "--no-telemetry", f"--file-prefix={primary.prefix}", "--", "--xstats"],
    env=rig.ENVIRONMENT, text=True, capture_output=True, timeout=rig.DEADLINE, check=False)
counts = [int(line.split(":")[1]) for line in secondary.stdout.splitlines()
          if line.strip().startswith(("rx_good_packets:", "rx_phy_packets:"))]
tap.check("a secondary process reads statistics, extended ones too",
          len(counts) == 4 and all(count > 0 for count in counts),
          secondary.stdout[-2000:] + secondary.stderr[-2000:] + primary.output[-1000:])
primary.send("stop")
tap.check("and the primary ends well", primary.finish("quit") == 0, primary.output[-1000:])
sys.exit(tap.done())
