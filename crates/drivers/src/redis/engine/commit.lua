-- Applies a batch as a whole, or refuses it as a whole. See ../mod.rs for the layout.
-- KEYS: meta keys values undo before packed pending queue log lane stage
-- ARGV: sequence, check blocks, expected version or '', 'undo' or 'none', undo bytes max, log
--       commits max, log bytes max, record bytes max, what the blocks after the checks are ('puts'
--       of different keys, told in the log as they stand; such puts, 'untold'; or 'any'), then the
--       blocks (none: they are staged)
local meta, keys, values, undo, before, packed, pending, queue, log, lane, stage = unpack(KEYS)
local call, byte, char, sub = redis.call, string.byte, string.char, string.sub
local pack = cmsgpack.pack
local FIXED = 9

local state = call('HMGET', meta, 'format', 'version', 'undo_bytes', 'log_bytes', 'log_count')
if state[1] ~= '3' then return {'format', state[1] or ''} end
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
local function block_text(number)
  if staged then return call('LINDEX', stage, number - 1) end
  return ARGV[FIXED + number]
end
local function block(number) return cmsgpack.unpack(block_text(number)) end

-- Operations that are looked at and sent together: a call costs more than what it does.
local TOGETHER = 128

-- A value as it was put: the version that wrote it stands in front.
local function bare(stored) return stored and sub(stored, 9) end

-- What keys hold, into a table.
local function fetch(wanted, into)
  for at = 1, #wanted, TOGETHER do
    local to = math.min(at + TOGETHER - 1, #wanted)
    for number, value in ipairs(call('HMGET', values, unpack(wanted, at, to))) do
      into[wanted[at + number - 1]] = value
    end
  end
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
local function width(operation)
  if operation == 'r' then return 4 end
  return (operation == 'd' or operation == 'n' or operation == 'o') and 2 or 3
end
for number = 1, checks do
  local items, at, wanted, held = block(number), 1, {}, {}
  while at <= #items do
    wanted[#wanted + 1] = items[at + 1]
    at = at + width(items[at])
  end
  fetch(wanted, held)
  at = 1
  while at <= #items do
    local operation, key = items[at], items[at + 1]
    if operation == 'c' then
      if bare(held[key]) ~= items[at + 2] then return {'conflict', key} end
    elseif operation == 'n' then
      if held[key] then return {'conflict', key} end
    elseif operation == 'o' then
      return {'overflow', key}
    else
      local sum = add(sums[key] or bare(held[key]), items[at + 2])
      if not sum then return {'overflow', key} end
      sums[key] = sum
    end
    at = at + width(operation)
  end
end

local keep = ARGV[4] == 'undo'
local undo_max, record_max = tonumber(ARGV[5]), tonumber(ARGV[8])
local stamp = struct.pack('>I8', version + 1)
local effect, changes, recorded = false, {}, 0
local undo_bytes = 0

local function record(bytes, ...)
  effect = true
  recorded = recorded + bytes + 64
  if recorded > record_max then changes = nil end
  if changes then
    for at = 1, select('#', ...) do changes[#changes + 1] = (select(at, ...)) end
  end
end

local added, removed, set, unset = {}, {}, {}, {}

local function send(command, name, list)
  if #list > 0 then call(command, name, unpack(list)) end
  return {}
end

local function flush()
  added, removed = send('ZADD', keys, added), send('ZREM', keys, removed)
  set, unset = send('HSET', values, set), send('HDEL', values, unset)
end

-- What a snapshot of an earlier version reads instead of what is written now: keys and what they held.
-- Of a key that is new there is nothing to save: the stamp of its value says so. What a few
-- keys held is put where snapshots look for it; that of many stays packed until one does, as most of it
-- is never looked for.
local PACK_BYTES = 1048576
local is_saved, saved, saved_bytes, packs = {}, {}, 0, 0

local function enqueue(what)
  call('RPUSH', queue, struct.pack('>I8I8', version + 1, saved_bytes) .. pack(what))
  undo_bytes = undo_bytes + saved_bytes
  saved, saved_bytes = {}, 0
end

local function pack_saved()
  local name = stamp .. packs
  packs = packs + 1
  call('HSET', packed, name, pack(saved))
  call('ZADD', pending, version + 1, name)
  enqueue(name)
end

local function save(key, old)
  if not old or is_saved[key] or sub(old, 1, 8) == stamp then return end
  is_saved[key] = true
  saved[#saved + 1] = key
  saved[#saved + 1] = old
  saved_bytes = saved_bytes + 3 * #key + #old + 240
  if saved_bytes > PACK_BYTES then pack_saved() end
end

-- Puts of different keys. That all of some are new is told by how many the set takes.
local function put_all(items)
  effect = true
  for at = 1, #items, 2 * TOGETHER do
    local to, count = math.min(at + 2 * TOGETHER - 1, #items), 0
    for place = at, to, 2 do
      count = count + 2
      added[count - 1], added[count] = '0', items[place]
      set[count - 1], set[count] = items[place], stamp .. items[place + 1]
    end
    local fresh = call('ZADD', keys, unpack(added, 1, count))
    if keep and 2 * fresh < count then
      local wanted = {}
      for place = at, to, 2 do wanted[#wanted + 1] = items[place] end
      for number, old in ipairs(call('HMGET', values, unpack(wanted))) do
        save(wanted[number], old)
      end
    end
    call('HSET', values, unpack(set, 1, count))
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
    at = at + width(operation)
    count = count + 1
  end
  fetch(wanted, found)
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
    added[#added + 1] = '0'
    added[#added + 1] = key
  end
  set[#set + 1] = key
  set[#set + 1] = stamp .. value
  record(#key + #value, 'p', key, value)
end

local function delete(key)
  local old = current(key)
  if old then
    if keep then save(key, old) end
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
  local least = from
  while true do
    local page = call('ZRANGEBYLEX', keys, least, to, 'LIMIT', 0, 1000)
    if #page == 0 then break end
    any = true
    if keep then
      local olds = call('HMGET', values, unpack(page))
      for number, key in ipairs(page) do save(key, olds[number]) end
    end
    call('HDEL', values, unpack(page))
    least = '(' .. page[#page]
  end
  if not any then return end
  call('ZREMRANGEBYLEX', keys, from, to)
  record(#first + #last, 'r', first, last, bounded)
end

local function operate(items)
  local at = 1
  while at <= #items do
    local after = look(items, at)
    while at < after do
      local operation, key = items[at], items[at + 1]
      if operation == 'p' then
        put(key, items[at + 2])
      elseif operation == 'd' then
        delete(key)
      elseif operation == 'a' then
        put(key, add(bare(current(key)), items[at + 2]))
      else
        delete_range(key, items[at + 2], items[at + 3])
      end
      at = at + width(operation)
    end
    flush()
  end
end

local apply = ARGV[9] == 'any' and operate or put_all
for number = checks + 1, blocks do apply(block(number)) end

local data, kind = '', 'd'
if ARGV[9] == 'any' then
  data = changes and pack(changes) or ''
elseif ARGV[9] == 'puts' and effect then
  data, kind = block_text(checks + 1), 'p'
end
if staged then call('DEL', stage) end

local function text_of(number) return string.format('%.0f', number) end
local function finish()
  local text = text_of(version)
  call('SET', lane, ARGV[1] .. ' ' .. text, 'EX', 3600)
  return {'ok', text}
end
if not effect then return finish() end

if #saved > 2 * TOGETHER then
  pack_saved()
elseif #saved > 0 then
  enqueue(spread(saved, stamp, undo, before))
end

version = version + 1
local text = text_of(version)
local total, floor = tonumber(state[3]) + undo_bytes, nil

-- Old values that are too many to keep are forgotten, commit by commit, and with them the snapshots
-- that need them.
if keep then
  while total > undo_max do
    local oldest = call('LPOP', queue)
    if not oldest then break end
    local gone, bytes = struct.unpack('>I8I8', oldest)
    local dead = cmsgpack.unpack(sub(oldest, 17))
    if type(dead) == 'string' then
      local name = dead
      dead = call('ZREM', pending, name) == 0 and cmsgpack.unpack(call('HGET', packed, name)) or {}
      call('HDEL', packed, name)
    end
    for at = 1, #dead, 1000 do
      local to = math.min(at + 999, #dead)
      call('HDEL', before, unpack(dead, at, to))
      call('ZREM', undo, unpack(dead, at, to))
    end
    total = total - bytes
    floor = text_of(gone)
  end
else
  call('DEL', undo, before, packed, pending, queue)
  total, floor = 0, text
end

call('XADD', log, text .. '-0', 's', #data, kind, data)
local log_bytes, log_count = tonumber(state[4]) + #data, tonumber(state[5]) + 1
while log_count > tonumber(ARGV[6]) or log_bytes > tonumber(ARGV[7]) do
  local oldest = call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  call('XDEL', log, oldest[1])
  log_bytes, log_count = log_bytes - oldest[2][2], log_count - 1
end
local numbers = {'version', text, 'undo_bytes', text_of(total), 'log_bytes', text_of(log_bytes)}
numbers[7], numbers[8] = 'log_count', text_of(log_count)
if floor then numbers[9], numbers[10] = 'floor', floor end
call('HSET', meta, unpack(numbers))
return finish()
