-- A page of a scan at a version: the newest keys and values, and beside them what the keys that
-- were changed since held before. The caller puts the two together, in the order of bytes: strings
-- of a script compare as the server's locale has it.
-- KEYS: meta keys values undo before
-- ARGV: version, 'f' or 'b', least and greatest key, least and greatest undo member, rows, bytes
-- Answer: 'ok', 1 when there are more rows, the last undo member when there are more of those,
--         the rows (key, value), the saved (member, value or nil)
local meta, keys, values, undo, before = unpack(KEYS)
local call = redis.call
local state = call('HMGET', meta, 'version', 'floor')
if not state[1] then return {'format', ''} end
local version = tonumber(ARGV[1])
if version > tonumber(state[1]) then return {'lost', state[1]} end
if version < tonumber(state[2]) then return {'old', state[2]} end
local forward = ARGV[2] == 'f'
local limit, bytes_max = tonumber(ARGV[7]), tonumber(ARGV[8])

local function range(set, least, greatest, count)
  if forward then return call('ZRANGEBYLEX', set, least, greatest, 'LIMIT', 0, count) end
  return call('ZREVRANGEBYLEX', set, greatest, least, 'LIMIT', 0, count)
end

local function member_of(key)
  return string.gsub(key, '%z', '\0\255') .. '\0\0'
end

local found = range(keys, ARGV[3], ARGV[4], limit)
local more = #found == limit
local rows, bytes, at = {}, 0, 1
while at <= #found do
  local to = math.min(at + 15, #found)
  local held = call('HMGET', values, unpack(found, at, to))
  for number = at, to do
    local value = held[number - at + 1]
    rows[#rows + 1] = found[number]
    rows[#rows + 1] = value
    bytes = bytes + #found[number] + #(value or '')
  end
  at = to + 1
  if bytes > bytes_max and at <= #found then
    more = true
    break
  end
end
if state[1] == ARGV[1] then return {'ok', more and 1 or 0, false, rows, {}} end

local least, greatest = ARGV[5], ARGV[6]
if more then
  local last = member_of(rows[#rows - 1])
  if forward then greatest = '[' .. last .. string.rep('\255', 8) else least = '[' .. last end
end

local saved, decided, cut = {}, nil, false
local saved_bytes = 0
while not cut do
  local page = range(undo, least, greatest, 200)
  for _, member in ipairs(page) do
    local key = string.sub(member, 1, -9)
    if struct.unpack('>I8', string.sub(member, -8)) > version then
      -- The first change after the version counts: met first going forward, last going backward.
      if key ~= decided then
        if saved_bytes > bytes_max then
          cut = saved[#saved - 1]
          break
        end
        decided = key
        saved[#saved + 1] = member
        saved[#saved + 1] = false
      elseif not forward then
        saved[#saved - 1] = member
      end
      if saved[#saved - 1] == member then
        local old = call('HGET', before, member)
        saved[#saved] = old
        saved_bytes = saved_bytes + #member + #(old or '')
      end
    end
  end
  if #page < 200 then break end
  local last = page[#page]
  if forward then
    if string.sub(last, 1, -9) == decided then last = decided .. string.rep('\255', 8) end
    least = '(' .. last
  else
    greatest = '(' .. last
  end
end
return {'ok', more and 1 or 0, cut, rows, saved}
