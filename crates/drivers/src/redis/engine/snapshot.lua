-- Reads the newest version, and prefetches keys and ranges. Values have the version that wrote them in front.
-- KEYS: meta keys runs values rows
-- ARGV: number of keys, the keys, then for each range the least and greatest key, and the number of rows
-- Reply: 'ok', version, lists of the keys' values (MessagePack), those in runs, and for each range: 1 if there
--        may be more, the keys, lists of their values, and the rows of runs (as in a page)
local meta, keys, runs, values, rows = unpack(KEYS)
local call, pack = redis.call, cmsgpack.pack
local version, packed_rows = unpack(call('HMGET', meta, 'version', 'packed_rows'))
if not version then return {'format', ''} end

local function lists(wanted, first, last, read)
  local held = {}
  for at = first, last, 100 do held[#held + 1] = pack(read(wanted, at, math.min(at + 99, last))) end
  return held
end

local count = tonumber(ARGV[1])
local in_runs, add, bring = collector(rows)
local function read(wanted, from, to)
  local found = call('HMGET', values, unpack(wanted, from, to))
  if packed_rows == '0' then return found end
  for number, value in ipairs(found) do
    if not value or is_run(value) then
      local key = wanted[from + number - 1]
      local name = value and key or name_until(key, runs)
      if name then add(name, from + number - 3) end
      found[number] = false
    end
  end
  bring()
  return found
end
local reply = {'ok', version, lists(ARGV, 2, 1 + count, read), in_runs}
for at = 2 + count, #ARGV, 3 do
  local most, packed = tonumber(ARGV[at + 2]), {}
  local found = call('ZRANGEBYLEX', keys, ARGV[at], ARGV[at + 1], 'LIMIT', 0, most)
  local more = #found == most and 1 or 0
  if more == 0 and packed_rows ~= '0' then found[#found + 1] = run_beyond(ARGV[at + 1], runs, values) end
  local held = lists(found, 1, #found, function(wanted, from, to)
    local list = call('HMGET', values, unpack(wanted, from, to))
    for _, run in ipairs(lists_of(wanted, from, list, rows)) do packed[#packed + 1] = run end
    return list
  end)
  reply[#reply + 1] = {more, pack(found), held, packed}
end
return reply
