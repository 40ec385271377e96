-- SPDX-License-Identifier: BSD-3-Clause
-- Stands for Pktgen: lua5.3 pktgen_stub.lua SCRIPT CAPACITY. The device under test loses what is
-- above CAPACITY percent of the line rate. Functions that Pktgen has not are errors here too.
local script, capacity = arg[1], tonumber(arg[2])
local state = {rate = 0, sent = 0, received = 0, calls = {}}

local known = {"set", "start", "stop", "clr", "delay", "portStats", "linkState", "quit", "set_range", "range"}
local function note(name)
  state.calls[name] = (state.calls[name] or 0) + 1
end
pktgen = setmetatable({}, {__index = function(_, name) error("Pktgen has no pktgen." .. name) end})
for _, name in ipairs(known) do
  rawset(pktgen, name, function() note(name) end)
end
pktgen.range = setmetatable({}, {__index = function(_, name)
  local there = {ip_proto = 1, src_ip = 1, dst_ip = 1, src_port = 1, dst_port = 1, pkt_size = 1}
  if not there[name] then error("Pktgen has no pktgen.range." .. name) end
  return function(ports, what, value)
    assert(ports and what, "pktgen.range." .. name .. " wants ports and what to set")
    note("range")
  end
end})
function pktgen.set(port, what, value)
  note("set")
  assert(what == "rate" or what == "count" or what == "burst" or what == "size", what)
  if what == "rate" then
    assert(value >= 0 and value <= 100, "rate " .. tostring(value))
    state.rate = value
  end
end
function pktgen.clr() state.sent, state.received = 0, 0 end
function pktgen.delay(milliseconds)
  if not state.sending then return end
  state.sent = state.sent + math.floor(state.rate * milliseconds)
  state.received = math.floor(math.min(state.rate, capacity) * milliseconds)
end
function pktgen.start() note("start") state.sending = true end
function pktgen.stop() state.sending = false end
function pktgen.portStats(port, kind)
  assert(kind == "port")
  return {[tonumber(port)] = {opackets = state.sent, ipackets = state.received}}
end
function pktgen.linkState(port) return {[tonumber(port)] = "<UP-100000-FD>"} end

dofile(script)
for _, name in ipairs({"set", "start", "range", "set_range", "quit"}) do
  print("called " .. name .. " " .. (state.calls[name] or 0))
end
