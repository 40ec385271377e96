#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd, unmodified, on each kind of wire."""
import fcntl
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import rig  # noqa: E402
import tap  # noqa: E402

if os.geteuid() != 0:
    tap.skip("the wires", "need root for tap interfaces")
    sys.exit(tap.done())


def received(program, port=0):
    program.output = ""
    match = program.ask(f"show port stats {port}", r"RX-packets: (\d+)")
    return int(match.group(1)) if match else -1


def sent(program, port):
    program.output = ""
    match = program.ask(f"show port xstats {port}", r"tx_phy_packets: (\d+)")
    return int(match.group(1)) if match else -1


def counted(program, port, name):
    program.output = ""
    match = program.ask(f"show port xstats {port}", rf"{name}: (\d+)[\s\S]*testpmd>")
    return int(match.group(1)) if match else -1


def write_capture(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


def read_capture(path):
    data = Path(path).read_bytes()
    frames, at = [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


# Three echo requests of 1400 bytes, in as few words as a command line takes.
PING = """
import socket, struct
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(20)
answers = 0
for number in range(3):
    payload = bytes(range(200)) * 7
    head = struct.pack("!BBHHH", 8, 0, 0, 99, number)
    head = struct.pack("!BBHHH", 8, 0, checksum(head + payload), 99, number)
    raw.sendto(head + payload, ("192.0.2.2", 0))
    reply = raw.recv(2000)[20:]
    answers += reply[0] == 0 and reply[4:] == (head + payload)[4:]
print(answers, "answers")
"""

# peer: two ports send each other what they get.
program = rig.testpmd(["--ports", "2", "--lossless", "on"], ["--forward-mode=io"])
program.send("start tx_first 1")
tap.check("peer: frames go round", rig.wait_until(lambda: received(program) > 10000), program.output)
program.send("stop")
tap.check("peer: it ends well", program.finish("quit") == 0, program.output[-2000:])

# What becomes of the control netdev from outside is seen: here by ip, there by the program.
def inside(running, *command, **more):
    return subprocess.run(["nsenter", "-t", str(running.process.pid), "-n", *command], text=True,
                          capture_output=True, timeout=rig.DEADLINE, check=False, **more)


def links(running):
    status = []
    for port in (0, 1):
        match = running.ask(f"show port info {port}", r"Link status: (\w+)")
        status.append(match.group(1) if match else "unknown")
    return status


program = rig.testpmd(["--ports", "2", "--lossless", "on"], [])
tap.check("netdev: both links are up", rig.wait_until(lambda: links(program) == ["up", "up"]), program.output[-2000:])
inside(program, "ip", "link", "set", "cx0p1", "down")
tap.check("netdev: down, and so is the other end of the cable",
          rig.wait_until(lambda: links(program) == ["down", "down"]), program.output[-2000:])
inside(program, "ip", "link", "set", "cx0p1", "up")
tap.check("netdev: up again", rig.wait_until(lambda: links(program) == ["up", "up"]), program.output[-2000:])
# Frames of 1,400 bytes go round until the MTU of a netdev is less, and are lost then.
program.send("set txpkts 1400")
program.send("start tx_first")
tap.check("netdev: long frames pass", rig.wait_until(lambda: counted(program, 1, "rx_good_packets") > 1000),
          program.output[-2000:])
inside(program, "ip", "link", "set", "cx0p1", "mtu", "1300")
tap.check("netdev: a smaller MTU stops them", rig.wait_until(
    lambda: counted(program, 1, "rx_good_packets") == counted(program, 1, "rx_good_packets")), program.output[-2000:])
tap.check("netdev: the port has seen them all the same",
          counted(program, 1, "rx_phy_packets") > counted(program, 1, "rx_good_packets"), program.output[-2000:])
inside(program, "ip", "link", "set", "cx0p1", "mtu", "1500")
before = counted(program, 1, "rx_good_packets")
program.send("stop")
program.send("start tx_first")
tap.check("netdev: a larger one lets them through",
          rig.wait_until(lambda: counted(program, 1, "rx_good_packets") > before), program.output[-2000:])
program.send("stop")
tap.check("netdev: it ends well", program.finish("quit") == 0, program.output[-2000:])

# loop: a port hears itself.
program = rig.testpmd(["--ports", "1", "--wire", "loop", "--lossless", "on"],
                      ["--forward-mode=io", "--port-topology=loop"])
program.send("start tx_first 1")
tap.check("loop: frames go round", rig.wait_until(lambda: received(program) > 10000), program.output)
program.send("stop")
tap.check("loop: it ends well", program.finish("quit") == 0, program.output[-2000:])

# tap: the kernel at the other end.
program = rig.testpmd(["--ports", "1", "--wire", "tap"],
                      ["--forward-mode=icmpecho", "--port-topology=loop"])
program.send("start")
program.expect("icmpecho packet forwarding")
ping = subprocess.run(
    ["nsenter", "-t", str(program.process.pid), "-n", "sh", "-c",
     f"ip addr add 192.0.2.1/24 dev cx0p0 && exec {sys.executable} -c '{PING}'"],
    text=True, capture_output=True, timeout=rig.DEADLINE, check=False)
tap.check("tap: echo requests through the netdev are answered", ping.stdout.strip() == "3 answers",
          ping.stdout + ping.stderr + program.output[-1000:])
program.send("stop")
tap.check("tap: it ends well", program.finish("quit") == 0, program.output[-2000:])

# tap: tcpreplay on the netdev, and tcpdump there; what each sends or sees is compared with a file at the
# other port. In one direction frames of one file, in the other those of another.
def some_frames(count, seed):
    return [bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, seed, 0x88, 0xb5]) +
            bytes((number * 7 + at * seed) & 0xff for at in range(46 + number * 13 % 1454))
            for number in range(count)]


def captured(path):
    return read_capture(path) if Path(path).exists() else []


if shutil.which("tcpdump") and shutil.which("tcpreplay"):
    replayed, played = some_frames(400, 3), some_frames(400, 5)
    write_capture(rig.WORK / "replayed.pcap", replayed)
    write_capture(rig.WORK / "played.pcap", played)
    program = rig.testpmd(
        ["--ports", "2", "--lossless", "on", "--wire", "0=tap",
         "--wire", f"1=pcap:in={rig.WORK}/played.pcap:out={rig.WORK}/arrived.pcap"],
        ["--forward-mode=io", "--txd=1024", "--no-flush-rx"])
    dumps = {}
    for direction in ("in", "out"):
        dumps[direction] = subprocess.Popen(
            ["nsenter", "-t", str(program.process.pid), "-n", "tcpdump", "-i", "cx0p0", "-Q", direction, "-U",
             "--immediate-mode", "-s", "2048", "-B", "16384", "-Z", "root", "-w", f"{rig.WORK}/{direction}.pcap"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        tap.check(f"tap: tcpdump listens ({direction})", "listening on" in dumps[direction].stderr.readline())
    program.send("start")
    tap.check("tap: tcpdump sees what the port sends",
              rig.wait_until(lambda: len(captured(rig.WORK / "in.pcap")) >= len(played)), program.output[-2000:])
    tap.check("tap: byte for byte and in order", captured(rig.WORK / "in.pcap") == played)
    replay = inside(program, "tcpreplay", "--intf1=cx0p0", "--pps=4000", str(rig.WORK / "replayed.pcap"))
    tap.check("tap: tcpreplay sends", replay.returncode == 0, replay.stdout + replay.stderr)
    tap.check("tap: tcpdump sees what tcpreplay sends",
              rig.wait_until(lambda: len(captured(rig.WORK / "out.pcap")) >= len(replayed)))
    tap.check("tap: that as well byte for byte", captured(rig.WORK / "out.pcap") == replayed)
    rig.wait_until(lambda: sent(program, 1) >= len(replayed))
    for dump in dumps.values():
        dump.terminate()
        dump.wait()
    program.send("stop")
    tap.check("tap: it ends well after that", program.finish("quit") == 0, program.output[-2000:])
    tap.check("tap: the other port has what tcpreplay sent, byte for byte and in order",
              captured(rig.WORK / "arrived.pcap") == replayed)
else:
    tap.skip("tcpdump and tcpreplay on the netdev", "needs the programs tcpdump and tcpreplay")

# pcap: what one file holds arrives in the other, whatever the function with which the driver receives.
def sized_frames(count, longest):
    return [bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]) +
            bytes((number * 7 + at) & 0xff for at in range(46 + number * 131 % (longest - 59)))
            for number in range(count)]


jumbo = ["--max-pkt-len=9018", "--rx-offloads=0x2000", "--tx-offloads=0x8000"]  # scatter, several segments
for mode, function, offered, device, longest, arguments in (
        ("vector", "Vector", [], "", 1514, []),
        ("scalar", "Scalar", [], ",rx_vec_en=0", 1514, []),
        ("scatter", "Scalar", [], "", 9014, jumbo),
        ("MPRQ", "Multi-Packet RQ", ["--mprq"], ",mprq_en=1,rxqs_min_mprq=1,mprq_log_stride_num=6,rx_vec_en=0", 1514, []),
        ("MPRQ vector", "MPRQ Vector", ["--mprq"], ",mprq_en=1,rxqs_min_mprq=1,mprq_log_stride_num=6", 1514, [])):
    frames = sized_frames(500, longest)
    write_capture(rig.WORK / "in.pcap", frames)
    program = rig.testpmd(["--ports", "2", "--lossless", "on", *offered,
                           "--wire", f"0=pcap:in={rig.WORK}/in.pcap:repeat=3",
                           "--wire", f"1=pcap:out={rig.WORK}/out.pcap"],
                          # Room for all: testpmd drops what does not fit.
                          ["--forward-mode=io", "--txd=2048", "--no-flush-rx", *arguments],
                          eal=("-m", "128", "-a", "0000:81:00.0" + device, "-a", "0000:81:00.1" + device))
    match = program.ask("show rxq info 0 0", r"Burst mode: (.*)")
    tap.check(f"pcap, {mode}: the driver receives so", match and function in match.group(1), program.output[-2000:])
    program.send("start")
    tap.check(f"pcap, {mode}: all frames are read", rig.wait_until(lambda: received(program) == 1500),
              program.output[-2000:])
    rig.wait_until(lambda: sent(program, 1) == 1500)
    program.send("stop")
    tap.check(f"pcap, {mode}: it ends well", program.finish("quit") == 0, program.output[-2000:])
    written = read_capture(rig.WORK / "out.pcap")
    different = [number for number, pair in enumerate(zip(written, frames * 3)) if pair[0] != pair[1]]
    tap.check(f"pcap, {mode}: and written, byte for byte and in order",
              len(written) == 1500 and not different, f"{len(written)} written, different: {different[:20]}")
result = rig.run(["--ports", "1", "--wire", "pcap:in=/no/such.pcap"],
                 ["dpdk-testpmd", "-l", "0", "--in-memory", "-m", "64", "--no-telemetry",
                  "--file-prefix=cx4_nofile", "--", "--auto-start"])
tap.check("pcap: a file that is not there is named", "cannot read the pcap file /no/such.pcap" in
          result.stderr, result.stderr[-2000:])

# shm: two processes, each on a genuine driver.
options = ["--ports", "1", "--wire", "shm:test", "--lossless", "on"]
sender = rig.testpmd(options, ["--forward-mode=txonly"])
receiver = rig.testpmd(options, ["--forward-mode=rxonly"])
receiver.send("start")
receiver.expect("rxonly packet forwarding")
sender.send("start")
tap.check("shm: one process receives what the other sends",
          rig.wait_until(lambda: received(receiver) > 10000), receiver.output[-2000:])
third = rig.run(options, ["dpdk-testpmd", "-l", "0", "--in-memory", "-m", "64", "--no-telemetry",
                          "--file-prefix=cx4_third", "--", "--auto-start"])
tap.check("shm: a third is told that both ends are taken", "both ends are taken" in third.stderr,
          third.stderr[-2000:])
receiver.process.kill()
receiver.process.wait()
sender.send("stop")
tap.check("shm: the sender survives its receiver", sender.finish("quit") == 0, sender.output[-2000:])
rig.run(["--ports", "1"], ["true"])
left = [path.name for path in (rig.BASE / "wires").glob("*")]
tap.check("shm: nothing of the wire is left", not left, left)

# A launcher that cleans up must not take the wire from a program that is about to take its end: both lock
# the directory for that long.
def somebody_waits_for(file):
    inode = os.fstat(file).st_ino
    lines = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
    return any("-> FLOCK" in line and f":{inode} " in line for line in lines)


program = rig.Program(["--ports", "1", "--wire", "shm:guarded"], ["sh", "-c", "echo ready; read line; exec " + " ".join(
    ["dpdk-testpmd", "-l", "0,1", "--in-memory", "-m", "64", "--no-telemetry", "--file-prefix=cx4_guarded", "--", "-i",
     "--total-num-mbufs=2048"])])
program.expect("ready")
wires = rig.BASE / "wires"
wires.mkdir(exist_ok=True)
guard = os.open(wires, os.O_RDONLY | os.O_DIRECTORY)
fcntl.flock(guard, fcntl.LOCK_EX)
program.send("go")
tap.check("shm: who takes an end waits for who cleans up", rig.wait_until(lambda: somebody_waits_for(guard)),
          program.output[-2000:])
tap.check("shm: and has not begun", not (wires / "guarded").exists())
os.close(guard)
tap.check("shm: then it goes on", rig.wait_until(lambda: (wires / "guarded.end0").exists()), program.output[-2000:])
tap.check("shm: and ends well", program.expect("testpmd> ") and program.finish("quit") == 0, program.output[-2000:])

# A worse wire than a perfect one.
program = rig.testpmd(["--ports", "2", "--rate", "0=200kpps"], ["--forward-mode=txonly"])
program.send("start")
rig.wait_until(lambda: sent(program, 0) > 1000)
rates = []
for _ in range(3):  # the first answer covers the time since the port was started
    program.output = ""
    match = program.ask("show port stats 0", r"Tx-pps:\s+(\d+)")
    rates.append(int(match.group(1)) if match else 0)
    rig.wait_until(lambda: False, 0.5)
rate = rates[-1]
tap.check("rate: not above what was asked for", 0 < rate < 220000, rate)
program.send("stop")
program.finish("quit")
sys.exit(tap.done())
