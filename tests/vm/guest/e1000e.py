# SPDX-License-Identifier: BSD-3-Clause
"""A PCI NIC behind a bridge of node 1 and an IOMMU, by vfio-pci: qemu's e1000e, DPDK's own driver for
it. A page that were not mapped for the device would fault; to see that, once it is not mapped."""
import re
import subprocess
from pathlib import Path

import judge
import nearpmd
import move
import rig
import tap

DEVICES = ["0000:81:00.0", "0000:82:00.0"]
NO_DMA_MAP = rig.BUILD / "tests/vm/libno_dma_map.so"


def bind():
    for device in DEVICES:
        folder = Path(f"/sys/bus/pci/devices/{device}")
        (folder / "driver_override").write_text("vfio-pci")
        Path("/sys/bus/pci/drivers_probe").write_text(device)
    return all(Path(f"/sys/bus/pci/drivers/vfio-pci/{device}").exists() for device in DEVICES)


def faults():
    """Lines of the kernel's about DMA that the IOMMU refused."""
    text = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"DMAR: \[DMA .*", text)


class OnE1000e(nearpmd.Nearpmd):
    def __init__(self, arguments=(), before=()):
        super().__init__(arguments, ports=None, before=before,
                         eal=["--iova-mode=va", *(f"-a{device}" for device in DEVICES)])

    def ring(self, port):
        return judge.E1000eRing(self.pid, DEVICES[port])


def there_and_back():
    pmd = OnE1000e()
    tap.check("nearpmd forwards between two e1000e", pmd.start(), pmd.output[-2000:])
    pmd.wait_for_frames(0, 4 * nearpmd.RXD)
    ring = pmd.ring(0)
    tap.check("the device itself says where its ring is", ring.entries == nearpmd.RXD, vars(ring))
    for lcore, node in [(1, 0), (2, 1), (1, 0)]:
        nodes, frames = move.move_and_look(pmd, 0, lcore, node)
        tap.check(f"all {ring.entries} pages are on node {node} after {frames} frames",
                  move.all_on(nodes, node), nodes)
        looks, wrong = move.stays(pmd, 0, node, 60 if node == 1 else 2)
        tap.check(f"they stay there, {looks} looks", wrong is None, wrong)
    tap.check("the books balance", pmd.balances(), pmd.output[-2000:])


def switched_off(option):
    """From its own node 1 to a lcore of node 0: the pages do not come along."""
    pmd = OnE1000e([option])
    tap.check(f"{option}: nearpmd forwards", pmd.start(), pmd.output[-2000:])
    pmd.wait_for_frames(0, 8 * nearpmd.RXD)
    before = pmd.ring(0).nodes()
    nodes, frames = move.move_and_look(pmd, 0, 1, 0, 4 * (nearpmd.RXD + move.IN_FLIGHT))
    tap.check(f"{option}: {dict(before)} is {dict(nodes)} after {frames} frames",
              move.all_on(before, 1) and nodes[1] >= nearpmd.RXD // 4)
    tap.check(f"{option}: the books balance", pmd.balances(), pmd.output[-2000:])


def not_mapped():
    """The device does not notice; the kernel says what the IOMMU kept it from."""
    pmd = OnE1000e(before=["env", f"LD_PRELOAD={NO_DMA_MAP}"])
    pmd.start()
    tap.check("pages that are not mapped for the device fault", rig.wait_until(faults, 20), pmd.output[-800:])
    pmd.finish("quit")


def run():
    nearpmd.hugepages_on_both_nodes()
    tap.check("both are bound to vfio-pci", bind())
    node = Path(f"/sys/bus/pci/devices/{DEVICES[0]}/numa_node").read_text().strip()
    tap.check("and are on node 1", node == "1", node)
    there_and_back()
    switched_off("--no-node-follow")
    switched_off("--no-foreign-reject")
    tap.check("the IOMMU refused nothing so far", not faults(), "\n".join(faults()[:5]))
    not_mapped()
