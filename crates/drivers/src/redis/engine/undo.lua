-- Unpacks the old values that commits saved to where snapshots search for them. This file is prepended to the
-- scripts that need it.

-- Escapes a key for the members of the undo set.
local function escaped(key) return (string.gsub(key, '%z', '\0\255')) end

-- Returns keys and old values with runs unpacked into rows. A saved run is its version followed by its rows.
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

-- Stores keys and their values before a version in `undo` and `before`. Returns the members.
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

-- Unpacks the saved values of all commits after a version, and stores their members in `packed` instead.
local function spread_since(version, undo, before, packed, pending)
  local call = redis.call
  for _, name in ipairs(call('ZRANGEBYSCORE', pending, '(' .. version, '+inf')) do
    local items = cmsgpack.unpack(call('HGET', packed, name))
    local members = spread(items, string.sub(name, 1, 8), undo, before)
    call('HSET', packed, name, cmsgpack.pack(members))
    call('ZREM', pending, name)
  end
end
