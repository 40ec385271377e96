# SPDX-License-Identifier: BSD-3-Clause
"""Node 1 runs out of pages while queues of it are busy: the reserve serves, and fills up again."""
import driver
import nearpmd
import rig
import tap

PAGES, MIN, LOW, HIGH = 2000, 100, 200, 400
BUSY = 64  # pages that the busy lcore takes and gives in each turn


def run():
    nearpmd.hugepages_on_both_nodes()
    # Lcores 1 and 2 on node 1, 3 on node 0.
    pools = driver.Driver("0@0,1@2,2@3,3@1")
    tap.check("an arena", pools.ask(f"arena {MIN} {LOW} {HIGH} 0:{PAGES} 1:{PAGES}") == "ok", pools.said)
    for name in ("busy", "idle", "hoard"):
        pools.ask(f"pool {name} 1")
    total = pools.numbers("show-node 1")["free"]
    # The idle pool has surplus: pages that it took and that came back.
    pools.take(1, "idle", 300)
    pools.give(1, "idle", 300)
    kept = pools.numbers("show-pool idle")["kept"]
    tap.check("an idle pool keeps what came back", kept >= 300, kept)
    pools.ask("release 1 idle")
    pools.take(2, "busy", 300)
    pools.give(2, "busy", 300)
    pools.ask(f"loop 2 busy {BUSY}")

    # Down to min, then below it.
    free = pools.numbers("show-node 1")["free"]
    # The busy pool gives pages back meanwhile, so there are more above min than this, not fewer.
    calm = free - MIN - 10
    tap.check("pages above min are ordinary ones", pools.take(1, "hoard", calm) == calm
              and pools.numbers("show-pool hoard")["pressure"] == 0, pools.said[-3:])
    tap.check("below low, pools are asked for surplus", pools.numbers("show-node 1")["asking"] == 1)

    def gave():
        pools.ask("service")  # each gives a bounded number back
        enough = pools.numbers("show-node 1")["asking"] == 0
        left = pools.numbers("show-pool idle")["owned"]
        return left == 0 or (enough and left < kept)
    tap.check("the idle pool gives back until it has none or high is reached", rig.wait_until(gave),
              pools.said[-2:])
    rest = pools.numbers("show-node 1")["free"] - MIN + 60
    took = pools.take(1, "hoard", rest)
    hoard = pools.numbers("show-pool hoard")
    tap.check("below min it still succeeds", took == rest and hoard["failed"] == 0, hoard)
    tap.check("and the pages are marked", hoard["pressure"] > 0, hoard)
    tap.check("they are on node 1, from its reserve",
              set(pools.nodes("hoard")) == {1} and hoard["fallback"] == 0, hoard)
    tap.check("the node says how many are out",
              pools.numbers("show-node 1")["pressure_out"] >= hoard["pressure"])

    # The last taken first: pressure pages come back and are not kept.
    pools.give(1, "hoard", took + calm)
    hoard = pools.numbers("show-pool hoard")
    tap.check("pressure pages are not kept when they return",
              hoard["pressure"] == 0 and hoard["refused_pressure"] > 0, hoard)

    def recovered():
        pools.ask("service")
        pools.give(1, "hoard", 0)  # a poll of an otherwise idle queue
        node = pools.numbers("show-node 1")
        return node["free"] >= HIGH and node["asking"] == 0 and node["pressure_out"] == 0
    tap.check("the reserve recovers to high, the marks clear, nobody is asked any more",
              rig.wait_until(recovered), pools.said[-3:])
    busy = pools.numbers("rest 2")
    tap.check(f"the busy queue never starved in {busy['turns']} turns",
              busy["failed"] == 0 and busy["turns"] > 0, busy)
    after = pools.numbers("show-pool busy")
    tap.check("it gave back surplus while it was busy", after["surplus"] > 0, after)
    tap.check("and is relaxed again", after["strict"] == 0 and after["pressure"] == 0, after)
    tap.check("the books balance", pools.finish(), pools.said[-3:])
    tap.check("all pages of the node were counted", total > PAGES - BUSY * 8, total)
