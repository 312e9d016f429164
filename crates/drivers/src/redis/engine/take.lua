-- The newest version, and what is expected to be read of it. Values have the version that wrote them
-- in front.
-- KEYS: meta keys values
-- ARGV: how many keys, the keys, then of each range the least and greatest key, and how many of it
-- Answer: 'ok', version, lists of the keys' values (MessagePack), and of each range: 1 when there may
--         be more, the keys, lists of their values (as of a page)
local meta, keys, values = unpack(KEYS)
local call, pack = redis.call, cmsgpack.pack
local version = call('HGET', meta, 'version')
if not version then return {'format', ''} end

local function lists(wanted, first, last)
  local held = {}
  for at = first, last, 100 do
    held[#held + 1] = pack(call('HMGET', values, unpack(wanted, at, math.min(at + 99, last))))
  end
  return held
end

local count = tonumber(ARGV[1])
local answer = {'ok', version, lists(ARGV, 2, 1 + count)}
for at = 2 + count, #ARGV, 3 do
  local most = tonumber(ARGV[at + 2])
  local found = call('ZRANGEBYLEX', keys, ARGV[at], ARGV[at + 1], 'LIMIT', 0, most)
  answer[#answer + 1] = {#found == most and 1 or 0, pack(found), lists(found, 1, #found)}
end
return answer
