-- Reads a page of a scan at a version: the newest keys and values, and separately the old values of the keys that
-- were changed since. The caller merges the two in the order of bytes, as strings in a script compare by the
-- server's locale. Values have the version that wrote them in front.
-- KEYS: meta keys runs values rows undo before packed pending
-- ARGV: version, 'f' or 'b', least and greatest key, rows, bytes
-- Reply: 'ok', 1 if there are more rows, the last undo member if there are more of those, the keys
--        (MessagePack), lists of their values (MessagePack), the rows of runs, the saved (member, value). A run
--        is complete even if only some of it is in the range
local meta, keys, runs, values, rows, undo, before, packed, pending = unpack(KEYS)
local call = redis.call
local state = call('HMGET', meta, 'version', 'floor', 'packed_rows')
if not state[1] then return {'format', ''} end
local version = tonumber(ARGV[1])
if version > tonumber(state[1]) then return {'lost', state[1]} end
if version < tonumber(state[2]) then return {'old', state[2]} end
local forward = ARGV[2] == 'f'
local limit, bytes_max = tonumber(ARGV[5]), tonumber(ARGV[6])

local function range(set, least, greatest, count)
  if forward then return call('ZRANGEBYLEX', set, least, greatest, 'LIMIT', 0, count) end
  return call('ZREVRANGEBYLEX', set, greatest, least, 'LIMIT', 0, count)
end

local found = range(keys, ARGV[3], ARGV[4], limit)
local more = #found == limit and 1 or 0
local has_runs = state[3] ~= '0'
local beyond = has_runs and (more == 0 or not forward) and run_beyond(ARGV[4], runs, values)
if beyond then table.insert(found, forward and #found + 1 or 1, beyond) end

-- Keeps only the first keys that were found.
local function keep(count)
  for number = #found, count + 1, -1 do found[number] = nil end
  more = 1
end

-- Counts the rows of values, including those of runs, and drops the keys beyond the limit.
local counted = 0
local function count(list, before)
  for number, stored in ipairs(list) do
    counted = counted + (stored and is_run(stored) and count_of(stored) or 1)
    if counted >= limit and before + number < #found then
      for rest = #list, number + 1, -1 do list[rest] = nil end
      return keep(before + number)
    end
  end
end

local held, packed_lists, bytes, at, step, last_stored = {}, {}, 0, 1, 16, nil
while at <= #found do
  local to = math.min(at + step - 1, #found)
  local list = call('HMGET', values, unpack(found, at, to))
  if has_runs then count(list, at - 1) end
  for number = 1, #list do bytes = bytes + #found[at + number - 1] + #(list[number] or '') end
  for _, run in ipairs(lists_of(found, at, list, rows)) do
    packed_lists[#packed_lists + 1] = run
    bytes = bytes + #run
  end
  held[#held + 1] = cmsgpack.pack(list)
  last_stored = list[#list]
  if bytes > bytes_max and to < #found then keep(to) end
  -- Short values are read with fewer calls.
  step = bytes * 256 < bytes_max * to and 256 or 16
  at = to + 1
end
local names = cmsgpack.pack(found)
if state[1] == ARGV[1] then return {'ok', more, false, names, held, packed_lists, {}} end
spread_since(ARGV[1], undo, before, packed, pending)

local least, greatest = escaped(ARGV[3]), escaped(ARGV[4])
if more == 1 then
  local last = found[#found]
  if not forward and is_run(last_stored) then last = first_of(last_stored) end
  last = '[' .. escaped(last) .. '\0\0'
  if forward then greatest = last .. string.rep('\255', 8) else least = last end
end

local saved, decided, cut = {}, nil, false
local saved_bytes = 0
while not cut do
  local page = range(undo, least, greatest, 200)
  for _, member in ipairs(page) do
    local key = string.sub(member, 1, -9)
    if struct.unpack('>I8', string.sub(member, -8)) > version then
      -- The first change after the version is the relevant one: it comes first forward, last backward.
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
return {'ok', more, cut, names, held, packed_lists, saved}
