# SPDX-License-Identifier: BSD-3-Clause
"""Guest machines: their nodes, and what qemu has to be told for them."""
from dataclasses import dataclass, field


@dataclass
class Node:
    cpus: str = ""   # "0-1"; empty: none
    memory: int = 0  # MiB; 0: none


@dataclass
class Machine:
    nodes: list
    cpus: int
    distances: dict = field(default_factory=dict)  # (from, to): value, both ways
    iommu: bool = False  # intel-iommu, and two e1000e on one wire behind a bridge on node 1

    def memory(self):
        return sum(node.memory for node in self.nodes)

    def arguments(self, root, share):
        """@param root, share: folders of the host that the guest sees, the second writable."""
        line = ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(self.cpus),
                "-m", f"{self.memory()}M", "-nodefaults", "-display", "none", "-no-reboot"]
        line += self._nodes()
        line += ["-machine", "q35,kernel-irqchip=split"] if self.iommu else ["-machine", "q35"]
        if self.iommu:
            line += self._iommu()
        for tag, path, options in [("root", root, "readonly=on,multidevs=remap"),
                                   ("share", share, "multidevs=remap")]:
            line += ["-fsdev", f"local,id={tag},path={path},security_model=none,{options}",
                     "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag},bus=pcie.0"]
        return line

    def _nodes(self):
        line = []
        for number, node in enumerate(self.nodes):
            text = f"node,nodeid={number}"
            if node.cpus:
                text += f",cpus={node.cpus}"
            if node.memory:
                line += ["-object", f"memory-backend-ram,id=m{number},size={node.memory}M"]
                text += f",memdev=m{number}"
            line += ["-numa", text]
        for (source, target), value in self.distances.items():
            line += ["-numa", f"dist,src={source},dst={target},val={value}",
                     "-numa", f"dist,src={target},dst={source},val={value}"]
        return line

    @staticmethod
    def _iommu():
        line = ["-device", "intel-iommu,intremap=on,caching-mode=on",
                "-device", "pxb-pcie,id=pxb1,bus=pcie.0,bus_nr=0x80,numa_node=1"]
        for number in range(2):
            line += ["-device", f"pcie-root-port,id=rp{number},bus=pxb1,chassis={number + 1}",
                     "-netdev", f"hubport,id=n{number},hubid=0",
                     "-device", f"e1000e,netdev=n{number},bus=rp{number},romfile="]
        return line


TWO = [Node("0-1", 1024), Node("2-3", 1024)]
MACHINES = {
    "two_nodes": Machine(TWO, 4, {(0, 1): 21}),
    "iommu": Machine(TWO, 4, {(0, 1): 21}, iommu=True),
    # 1 has no memory, 3 no CPU; 0 and 2 are whole. From 1, node 2 is nearest; from 2, node 3.
    "four_nodes": Machine(
        [Node("0", 640), Node("1"), Node("2-3", 640), Node("", 512)], 4,
        {(0, 1): 30, (0, 2): 21, (0, 3): 31, (1, 2): 17, (1, 3): 25, (2, 3): 12}),
}
