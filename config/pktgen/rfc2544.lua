-- SPDX-License-Identifier: BSD-3-Clause
-- The search of RFC 2544 for the highest rate without loss, apart from any traffic generator.
local rfc2544 = {}

rfc2544.sizes = {64, 128, 256, 512, 1024, 1280, 1518}

-- Most frames per second that a link carries: preamble and gap are 20 bytes.
function rfc2544.line_rate(bits_per_second, size)
  return bits_per_second / ((size + 20) * 8)
end

-- trial(percent) sends for a while at that share of the line rate and returns how many frames it
-- sent and how many came back. The search ends when it knows the rate to `resolution` percent.
-- Returns the highest share without loss (0: none), and how many trials that took.
function rfc2544.search(trial, resolution)
  local low, high, trials = 0, 100, 0
  local try = 100 -- most devices are either at line rate or far from it
  while true do
    local sent, received = trial(try)
    trials = trials + 1
    if sent > 0 and received >= sent then
      low = try
    else
      high = try
    end
    if low >= 100 or high - low <= resolution then
      return low, trials
    end
    try = (low + high) / 2
  end
end

return rfc2544
