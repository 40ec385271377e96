-- SPDX-License-Identifier: BSD-3-Clause
-- RFC 2544 throughput with Pktgen: sends on port 0, counts on port 1.
--   pktgen -l 0-2 -a 81:00.0 -a 81:00.1 -- -m "[1:1].0,[2:2].1" -f config/pktgen/throughput.lua
-- Settings come from the environment:
--   NEARPOOL_PKTGEN    the directory of this file, if that is not config/pktgen
--   SECONDS_PER_TRIAL  60 in RFC 2544; 5 here, for a first look
--   RESOLUTION         percent of the line rate, 0.5
--   RESULT             file for one line per size: bytes, percent, frames per second
package.path = package.path .. ";" .. (os.getenv("NEARPOOL_PKTGEN") or "config/pktgen") .. "/?.lua"
local rfc2544 = require "rfc2544"

local seconds = tonumber(os.getenv("SECONDS_PER_TRIAL") or "5")
local resolution = tonumber(os.getenv("RESOLUTION") or "0.5")
local result = os.getenv("RESULT")
local sender, receiver = "0", "1"

-- What is still under way when sending ends has this long to arrive.
local settle_ms = 200

local function counts(port, name)
  return pktgen.portStats(port, "port")[tonumber(port)][name]
end

local function trial(size)
  return function(percent)
    pktgen.set(sender, "rate", percent)
    pktgen.clr()
    pktgen.start(sender)
    pktgen.delay(math.floor(seconds * 1000))
    pktgen.stop(sender)
    pktgen.delay(settle_ms)
    local sent, received = counts(sender, "opackets"), counts(receiver, "ipackets")
    print(string.format("%5d bytes, %6.2f %%: %d sent, %d lost", size, percent, sent, sent - received))
    return sent, received
  end
end

local lines = {}
pktgen.stop("all")
pktgen.set(sender, "count", 0) -- for ever
pktgen.set(sender, "burst", 32)
for _, size in ipairs(rfc2544.sizes) do
  pktgen.set(sender, "size", size)
  local percent = rfc2544.search(trial(size), resolution)
  pktgen.set(sender, "rate", percent)
  local speed = pktgen.linkState(sender)[tonumber(sender)]
  local bits = tonumber(tostring(speed):match("(%d+)") or "0") * 1000000
  local rate = rfc2544.line_rate(bits, size) * percent / 100
  lines[#lines + 1] = string.format("%d %.2f %.0f", size, percent, rate)
  print("throughput " .. lines[#lines])
end
if result then
  local file = assert(io.open(result, "w"))
  file:write(table.concat(lines, "\n"), "\n")
  file:close()
end
pktgen.quit()
