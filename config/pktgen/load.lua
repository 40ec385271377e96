-- SPDX-License-Identifier: BSD-3-Clause
-- Loads nearpmd with Pktgen: many flows from every port, until 'stop all' is typed.
--   pktgen -l 0-2 -a 81:00.0 -a 81:00.1 -- -m "[1:1].0,[2:2].1" -f config/pktgen/load.lua
-- Settings come from the environment: SIZE (bytes, 64), RATE (percent of the line, 100),
-- FLOWS (source ports, 256).
local size = tonumber(os.getenv("SIZE") or "64")
local rate = tonumber(os.getenv("RATE") or "100")
local flows = tonumber(os.getenv("FLOWS") or "256")

pktgen.stop("all")
pktgen.set("all", "count", 0)
pktgen.set("all", "rate", rate)
-- Source ports in turn, so that RSS spreads the frames over all queues.
pktgen.range.ip_proto("all", "udp")
pktgen.range.src_ip("all", "start", "10.0.0.1")
pktgen.range.src_ip("all", "inc", "0.0.0.0")
pktgen.range.dst_ip("all", "start", "10.1.0.1")
pktgen.range.dst_ip("all", "inc", "0.0.0.0")
pktgen.range.src_port("all", "start", 1024)
pktgen.range.src_port("all", "min", 1024)
pktgen.range.src_port("all", "max", 1024 + flows - 1)
pktgen.range.src_port("all", "inc", 1)
pktgen.range.dst_port("all", "start", 9)
pktgen.range.dst_port("all", "inc", 0)
pktgen.range.pkt_size("all", "start", size)
pktgen.range.pkt_size("all", "inc", 0)
pktgen.set_range("all", "on")
pktgen.start("all")
