# SPDX-License-Identifier: BSD-3-Clause
"""An unmodified dpdk-testpmd with the plugin, lcores on both nodes, each polling the port of the
other node: each comes to receive into its own node's pages."""
import judge
import nearpmd
import rig
import tap

PLUGIN = rig.BUILD / "drivers/mempool/page_pool/librte_mempool_page_pool.so"


def start(arguments):
    program = rig.Program(nearpmd.PORTS, [
        "stdbuf", "-oL", "dpdk-testpmd", "--lcores=0@0,1@1,2@2", "--in-memory", "--no-telemetry",
        "--file-prefix=vm", "-d", str(PLUGIN), "--mbuf-pool-ops-name=page_pool", "--", "-i",
        "--nb-cores=2", "--total-num-mbufs=4096", "--rxd=256", "--txd=256", *arguments])
    program.expect("testpmd> ")
    return program


def come_to_be_on(program, nodes):
    pid = nearpmd.only_child(program.process.pid)
    seen = {}

    def there():
        for port in nodes:
            seen[port] = dict(judge.ConnectX4Ring(pid, program.output, port).nodes())
        return all(set(seen[port]) == {node} for port, node in nodes.items())
    return rig.wait_until(there), seen


def run():
    nearpmd.hugepages_on_both_nodes()
    program = start(["--tx-offloads=0"])
    for corelist, nodes in [("1,2", {0: 0, 1: 1}), ("2,1", {0: 1, 1: 0})]:
        program.send(f"set corelist {corelist}")
        tap.check(f"lcores {corelist} poll ports 0 and 1",
                  program.ask("start tx_first 8", "packet forwarding"), program.output[-1500:])
        good, seen = come_to_be_on(program, nodes)
        tap.check(f"each receives into its own node's pages: {seen}", good)
        program.ask("stop", r"Done\.")
    tap.check("testpmd ends well", program.finish("quit") == 0, program.output[-1500:])
