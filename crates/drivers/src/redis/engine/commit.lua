-- Applies a batch as a whole, or refuses it as a whole. See ../mod.rs for the layout.
-- KEYS: meta keys values undo before queue log lane stage
-- ARGV: sequence, check blocks, expected version or '', 'undo' or 'none', undo bytes max, log
--       commits max, log bytes max, record bytes max, then the blocks (none: they are staged)
local meta, keys, values, undo, before, queue, log, lane, stage = unpack(KEYS)
local call, byte, char = redis.call, string.byte, string.char
local FIXED = 8

local state = call('HMGET', meta, 'format', 'version')
if state[1] ~= '1' then return {'format', state[1] or ''} end
local done = call('GET', lane)
if done then
  local sequence, outcome = string.match(done, '^(%d+) (.*)$')
  if tonumber(sequence) > tonumber(ARGV[1]) then return {'void'} end
  if tonumber(sequence) == tonumber(ARGV[1]) then
    if outcome == 'void' then return {'void'} end
    return {'ok', outcome}
  end
end
local version = tonumber(state[2])
if ARGV[3] ~= '' and ARGV[3] ~= state[2] then return {'changed'} end

local staged = #ARGV == FIXED
local checks = tonumber(ARGV[2])
local blocks = staged and call('LLEN', stage) or #ARGV - FIXED
local function block(number)
  if staged then return cmsgpack.unpack(call('LINDEX', stage, number - 1)) end
  return cmsgpack.unpack(ARGV[FIXED + number])
end

-- Counters are 8 bytes, little endian; a double would not hold them. Nil on overflow.
local function add(held, delta)
  if not held then return delta end
  if #held ~= 8 then return nil end
  local one, two, out, carry = {byte(held, 1, 8)}, {byte(delta, 1, 8)}, {}, 0
  for at = 1, 8 do
    local sum = one[at] + two[at] + carry
    carry = sum >= 256 and 1 or 0
    out[at] = sum - 256 * carry
  end
  local negative = one[8] >= 128
  if negative == (two[8] >= 128) and negative ~= (out[8] >= 128) then return nil end
  return char(unpack(out))
end

-- Everything that can refuse the batch comes before the first write: a script is not undone.
local sums = {}
for number = 1, checks do
  local items, at = block(number), 1
  while at <= #items do
    local operation, key = items[at], items[at + 1]
    if operation == 'c' then
      if call('HGET', values, key) ~= items[at + 2] then return {'conflict', key} end
      at = at + 3
    elseif operation == 'n' then
      if call('HEXISTS', values, key) == 1 then return {'conflict', key} end
      at = at + 2
    elseif operation == 'o' then
      return {'overflow', key}
    else
      local sum = add(sums[key] or call('HGET', values, key), items[at + 2])
      if not sum then return {'overflow', key} end
      sums[key] = sum
      at = at + 3
    end
  end
end

local keep = ARGV[4] == 'undo'
local undo_max, record_max = tonumber(ARGV[5]), tonumber(ARGV[8])
local stamp = struct.pack('>I8', version + 1)
local effect, changes, recorded, undo_bytes = false, {}, 0, 0

local function record(bytes, ...)
  effect = true
  recorded = recorded + bytes + 64
  if recorded > record_max then changes = nil end
  if changes then
    for at = 1, select('#', ...) do changes[#changes + 1] = (select(at, ...)) end
  end
end

-- Operations that are looked at and sent together: a call costs more than what it does.
local TOGETHER = 64
local added, removed, set, unset, saved, held = {}, {}, {}, {}, {}, {}

local function send(command, name, list)
  if #list > 0 then call(command, name, unpack(list)) end
  return {}
end

local function flush()
  added, removed = send('ZADD', keys, added), send('ZREM', keys, removed)
  set, unset = send('HSET', values, set), send('HDEL', values, unset)
  held = send('HSET', before, held)
  if #saved > 0 then
    local members = {}
    for at = 2, #saved, 2 do members[#members + 1] = saved[at] end
    call('RPUSH', queue, unpack(members))
    saved = send('ZADD', undo, saved)
  end
end

-- What a snapshot of an earlier version reads instead of what is written now.
local is_saved = {}
local function save(key, old)
  if not keep or is_saved[key] then return end
  is_saved[key] = true
  local member = string.gsub(key, '%z', '\0\255') .. '\0\0' .. stamp
  saved[#saved + 1] = 0
  saved[#saved + 1] = member
  undo_bytes = undo_bytes + 3 * #member + 200
  if old then
    held[#held + 1] = member
    held[#held + 1] = old
    undo_bytes = undo_bytes + #old
  end
end

-- What the keys of some operations held before them, and which of them are changed since.
local found, changed, is_ranged
local function look(items, from)
  found, changed, is_ranged = {}, {}, false
  local wanted, at, count = {}, from, 0
  while at <= #items and count < TOGETHER do
    local operation = items[at]
    if operation == 'a' or operation == 'd' or operation == 'p' and keep then
      wanted[#wanted + 1] = items[at + 1]
    end
    at = at + (operation == 'r' and 4 or operation == 'd' and 2 or 3)
    count = count + 1
  end
  if #wanted > 0 then
    for number, value in ipairs(call('HMGET', values, unpack(wanted))) do
      found[wanted[number]] = value
    end
  end
  return at
end

local function current(key)
  if not changed[key] and not is_ranged then return found[key] end
  flush()
  return call('HGET', values, key)
end

local function put(key, value)
  local old = nil
  if keep then
    old = current(key)
    save(key, old)
  elseif changed[key] then
    flush()
  end
  changed[key] = true
  if not old then
    added[#added + 1] = 0
    added[#added + 1] = key
  end
  set[#set + 1] = key
  set[#set + 1] = value
  record(#key + #value, 'p', key, value)
end

local function delete(key)
  local old = current(key)
  if old then
    save(key, old)
    changed[key] = true
    unset[#unset + 1] = key
    removed[#removed + 1] = key
    record(#key, 'd', key)
  end
end

local function delete_range(first, last, bounded)
  local from = first == '' and '-' or '[' .. first
  local to = bounded == '1' and '(' .. last or '+'
  local any = false
  flush()
  is_ranged = true
  while true do
    local page = call('ZRANGEBYLEX', keys, from, to, 'LIMIT', 0, 1000)
    if #page == 0 then break end
    any = true
    if keep then
      local olds = call('HMGET', values, unpack(page))
      for number, key in ipairs(page) do save(key, olds[number]) end
      flush()
    end
    call('HDEL', values, unpack(page))
    call('ZREM', keys, unpack(page))
  end
  if any then record(#first + #last, 'r', first, last, bounded) end
end

for number = checks + 1, blocks do
  local items, at = block(number), 1
  while at <= #items do
    local after = look(items, at)
    while at < after do
      local operation, key = items[at], items[at + 1]
      if operation == 'p' then
        put(key, items[at + 2])
        at = at + 3
      elseif operation == 'd' then
        delete(key)
        at = at + 2
      elseif operation == 'a' then
        put(key, add(current(key), items[at + 2]))
        at = at + 3
      else
        delete_range(key, items[at + 2], items[at + 3])
        at = at + 4
      end
    end
    flush()
  end
end
if staged then call('DEL', stage) end

local function finish()
  local text = string.format('%.0f', version)
  call('SET', lane, ARGV[1] .. ' ' .. text, 'EX', 3600)
  return {'ok', text}
end
if not effect then return finish() end

version = version + 1
local text = string.format('%.0f', version)
call('HSET', meta, 'version', text)

-- Old values that are too many to keep are forgotten, and with them the snapshots that need them.
if keep then
  local total = call('HINCRBY', meta, 'undo_bytes', undo_bytes)
  local forgotten, freed = nil, 0
  while total - freed > undo_max do
    local oldest, gone = call('LRANGE', queue, 0, TOGETHER - 1), {}
    if #oldest == 0 then break end
    for _, member in ipairs(oldest) do
      if total - freed <= undo_max then break end
      freed = freed + 3 * #member + 200 + call('HSTRLEN', before, member)
      gone[#gone + 1] = member
    end
    call('LTRIM', queue, #gone, -1)
    call('HDEL', before, unpack(gone))
    call('ZREM', undo, unpack(gone))
    forgotten = string.sub(gone[#gone], -8)
  end
  if forgotten then
    call('HSET', meta, 'floor', string.format('%.0f', (struct.unpack('>I8', forgotten))))
    call('HINCRBY', meta, 'undo_bytes', 0 - freed)
  end
else
  call('DEL', undo, before, queue)
  call('HSET', meta, 'floor', text, 'undo_bytes', 0)
end

-- Redis refuses '-0', which is what the negative of 0 is written as: it is taken from 0.
local data = changes and cmsgpack.pack(changes) or ''
call('XADD', log, text .. '-0', 's', #data, 'd', data)
local log_bytes = call('HINCRBY', meta, 'log_bytes', #data)
while call('XLEN', log) > tonumber(ARGV[6]) or log_bytes > tonumber(ARGV[7]) do
  local oldest = call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  call('XDEL', log, oldest[1])
  log_bytes = call('HINCRBY', meta, 'log_bytes', 0 - oldest[2][2])
end
return finish()
