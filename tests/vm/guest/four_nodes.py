# SPDX-License-Identifier: BSD-3-Clause
"""Node 1 has a CPU and no memory, node 3 memory and no CPU; 0 and 2 are whole."""
import driver
import judge
import placement
import tap

# Lcore 1 runs on node 0, 2 on node 1, 3 on node 2.
LCORES = "0@3,1@0,2@1,3@2"
PAGES = 800


def node_without_memory():
    pools = driver.Driver(LCORES)
    tap.check("an arena on the nodes with memory", pools.ask(f"arena 1 2 3 0:{PAGES} 2:{PAGES} 3:{PAGES}") == "ok",
              pools.said)
    bound = [place.bound for place in judge.arena_ranges(pools.pid)]
    tap.check("has a range on each", bound == [0, 2, 3], bound)
    tap.check("all of its pages there", all(set(place.pages) == {place.bound}
                                            for place in judge.arena_ranges(pools.pid)))
    for name, node, lcore, lands in [("near", 0, 1, 0), ("memoryless", 1, 2, 2), ("two", 2, 3, 2)]:
        answer = pools.ask(f"pool {name} {node}")
        took = pools.take(lcore, name, 100)
        nodes = pools.nodes(name)
        tap.check(f"a lcore on node {node} gets pages of node {lands}",
                  took == 100 and set(nodes) == {lands}, (answer, took, nodes))
    # The nearest to 2 is 3, not 0, by the distances.
    left = pools.numbers("show-node 2")["free"]
    pools.give(3, "two", 100)
    took = pools.take(3, "two", left + 100 + 200)
    nodes = pools.nodes("two")
    tap.check("node 2 empty: the rest comes from node 3, the nearest, though it has no CPU",
              took == left + 300 and set(nodes) == {2, 3}
              and pools.numbers("show-node 2")["free"] == 0, (took, nodes))
    tap.check("and is counted", pools.numbers("show-pool two")["fallback"] == nodes[3])
    pools.give(3, "two", took)
    after = pools.numbers("show-pool two")
    tap.check("it goes home when it comes back: the pool keeps none", after["foreign"] == 0, after)
    tap.check("node 3 has all its pages",
              pools.numbers("show-node 3")["free"] == pools.numbers("show-node 3")["pages"])
    tap.check("the books balance", pools.finish(), pools.said[-3:])


def refused_node():
    pools = driver.Driver(LCORES)
    answer = pools.ask(f"arena 1 2 3 0:{PAGES} 1:{PAGES}")
    tap.check("memory of the node without any is refused in so many words",
              answer.startswith("error") and "node 1 has no memory" in answer, answer)
    pools.process.kill()
    pools.process.wait()


def run():
    for node, count in [(0, 60), (2, 60), (3, 40)]:
        judge.set_hugepages(node, count)
    placement.starts_on("lcores on nodes 0 and 2 of four", "0@0,1@0,2@2", [0, 2])
    placement.starts_on("a polling lcore on the node without memory", "0@0,1@1", [2])
    node_without_memory()
    refused_node()
