# SPDX-License-Identifier: BSD-3-Clause
"""The guest's initramfs: busybox, kernel modules and guest/init.sh, in cpio's newc form."""
import os
import stat
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
# In the order in which they are loaded.
MODULES = ["virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "tun"]
VFIO_MODULES = ["irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"]


class _Archive:
    def __init__(self):
        self.data = bytearray()
        self.count = 0

    def add(self, name, mode, content=b"", device=(0, 0)):
        self.count += 1
        path = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0]
        self.data += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        self._pad()
        self.data += content
        self._pad()

    def _pad(self):
        self.data += bytes(-len(self.data) % 4)


def build(kernel, vfio):
    """@return the archive's bytes. @param kernel: folder that scripts/fetch_kernel.sh filled."""
    modules = MODULES + (VFIO_MODULES if vfio else [])
    archive = _Archive()
    for directory in ["bin", "dev", "guest", "host", "modules", "proc", "sys"]:
        archive.add(directory, stat.S_IFDIR | 0o755)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("bin/busybox", stat.S_IFREG | 0o755, BUSYBOX.read_bytes())
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    archive.add("init", stat.S_IFREG | 0o755,
                (Path(__file__).parent / "guest/init.sh").read_bytes())
    for name in modules:
        archive.add(f"modules/{name}.ko", stat.S_IFREG | 0o644,
                    (kernel / "modules" / f"{name}.ko").read_bytes())
    archive.add("modules/order", stat.S_IFREG | 0o644, "".join(f"{m}\n" for m in modules).encode())
    archive.add("TRAILER!!!", 0)
    return bytes(archive.data)


def write(path, kernel, vfio):
    temporary = f"{path}.{os.getpid()}"
    Path(temporary).write_bytes(build(kernel, vfio))
    os.replace(temporary, path)
