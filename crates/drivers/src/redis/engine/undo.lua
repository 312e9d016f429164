-- What commits saved, and putting it where a snapshot looks for it. Stands in front of the scripts that
-- need it.

-- A key as it stands in the members of the undo set.
local function escaped(key) return (string.gsub(key, '%z', '\0\255')) end

-- Keys and what they held, with the rows of runs, which stand there behind their version, one by one.
local function unpacked(items)
  local all = {}
  for at = 1, #items, 2 do
    local _, held, stamp, rows = nil, items[at + 1], '', {items[at], items[at + 1]}
    if is_run(held) then
      stamp = since(held)
      _, rows = cmsgpack.unpack_one(held, 8)
    end
    for row = 1, #rows, 2 do
      all[#all + 1] = rows[row]
      all[#all + 1] = stamp .. rows[row + 1]
    end
  end
  return all
end

-- Puts keys and what they held before a version into the two. Returns the members.
local function spread(saved, stamp, undo, before)
  local members, items = {}, unpacked(saved)
  for from = 1, #items, 256 do
    local scored, held = {}, {}
    for at = from, math.min(from + 254, #items - 1), 2 do
      local member = escaped(items[at]) .. '\0\0' .. stamp
      scored[#scored + 1] = '0'
      scored[#scored + 1] = member
      held[#held + 1] = member
      held[#held + 1] = items[at + 1]
      members[#members + 1] = member
    end
    redis.call('ZADD', undo, unpack(scored))
    redis.call('HSET', before, unpack(held))
  end
  return members
end

-- Does so with what stands packed of the commits after a version. Its members are left instead.
local function spread_since(version, undo, before, packed, pending)
  local call = redis.call
  for _, name in ipairs(call('ZRANGEBYSCORE', pending, '(' .. version, '+inf')) do
    local items = cmsgpack.unpack(call('HGET', packed, name))
    local members = spread(items, string.sub(name, 1, 8), undo, before)
    call('HSET', packed, name, cmsgpack.pack(members))
    call('ZREM', pending, name)
  end
end
