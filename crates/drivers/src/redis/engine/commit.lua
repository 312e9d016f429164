-- Applies or rejects a batch as a whole. See ../mod.rs for the layout.
-- KEYS: meta keys runs values rows undo before packed pending queue log session stage
-- ARGV: sequence, number of check blocks, expected version or '', 'undo' or 'none', undo bytes max, log
--       commits max, log bytes max, record bytes max, 'logged' or 'unlogged' (whether the log stores the puts),
--       the kind of the blocks after the checks ('puts' of different keys in order; 'runs' of such puts, each
--       run its last key, number of rows with its first key, and rows; or 'any'), then the blocks (none if staged)
local meta, keys, runs, values, rows, undo, before, packed, pending, queue, log, session, stage = unpack(KEYS)
local call, byte, char, sub = redis.call, string.byte, string.char, string.sub
local pack = cmsgpack.pack
local FIXED = 10

local state = call('HMGET', meta, 'format', 'version', 'undo_bytes', 'log_bytes', 'log_count', 'packed_rows')
if state[1] ~= '5' then return {'format', state[1] or ''} end
local done = call('GET', session)
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

-- Operations that one call reads or writes: a call costs more than its work.
local TOGETHER = 128

-- A value without the version that wrote it, which is stored in front.
local function bare(stored) return stored and sub(stored, 9) end

-- Reads the values of keys into a table.
local read = reader(runs, values, rows, state[6])
local function fetch(wanted, into)
  for at = 1, #wanted, TOGETHER do
    local to = math.min(at + TOGETHER - 1, #wanted)
    for number, value in ipairs(read(wanted, at, to)) do
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

-- Everything that can reject the batch comes before the first write: Redis does not roll back a script.
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
local run_stamp = char(128 + byte(stamp)) .. sub(stamp, 2)
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

-- Saves keys and their old values, which snapshots of earlier versions read. For a new key nothing is saved: the
-- stamp of its value shows that it is new. The old values of a few keys are stored where snapshots search for
-- them. Those of many keys stay packed until a snapshot reads them, as most are never read.
local PACK_BYTES = 1048576
local is_saved, saved, saved_bytes, packs, has_saved_run = {}, {}, 0, 0, false

local function enqueue(what)
  call('RPUSH', queue, struct.pack('>I8I8', version + 1, saved_bytes) .. pack(what))
  undo_bytes = undo_bytes + saved_bytes
  saved, saved_bytes, has_saved_run = {}, 0, false
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

-- Saves all rows of a run.
local function save_run(name, stored, list)
  has_saved_run = true
  saved[#saved + 1] = name
  saved[#saved + 1] = sub(stored, 1, 8) .. list
  saved_bytes = saved_bytes + count_of(stored) * (3 * #name + 240) + #list
  if saved_bytes > PACK_BYTES then pack_saved() end
end

-- If rows of a run change, or keys are put between them, the rows before, between and after them stay in runs,
-- unless they are only a few.
local packed_rows = tonumber(state[6])
local PIECE_ROWS_MIN = 4
local scored, held, names, lists, gone = {}, {}, {}, {}, {}
local function send_pieces()
  send('ZREM', runs, gone)
  gone = send('HDEL', rows, gone)
  scored, names = send('ZADD', keys, scored), send('ZADD', runs, names)
  held, lists = send('HSET', values, held), send('HSET', rows, lists)
end

local function split_run(name, stored, list, touched)
  local items = cmsgpack.unpack(list)
  local old_stamp, old_run_stamp = since(stored), sub(stored, 1, 8)
  packed_rows = packed_rows - #items / 2
  gone[#gone + 1] = name

  local function put_single(at)
    scored[#scored + 1] = '0'
    scored[#scored + 1] = items[at]
    held[#held + 1] = items[at]
    held[#held + 1] = old_stamp .. items[at + 1]
  end
  local function put_piece(from, to)
    local count = (to - from) / 2
    if count < PIECE_ROWS_MIN then
      for at = from, to - 2, 2 do put_single(at) end
      return
    end
    local last = items[to - 2]
    packed_rows = packed_rows + count
    scored[#scored + 1] = '0'
    scored[#scored + 1] = last
    names[#names + 1] = '0'
    names[#names + 1] = last
    held[#held + 1] = last
    held[#held + 1] = old_run_stamp .. struct.pack('>I4', count) .. items[from]
    lists[#lists + 1] = last
    lists[#lists + 1] = pack({unpack(items, from, to - 1)})
  end

  local places, cuts = {}, {}
  for at = 1, #items, 2 do places[items[at]] = at end
  for _, key in ipairs(touched) do
    local at = places[key]
    if not at then
      at = 1
      while is_before(items[at], key) do at = at + 2 end
      cuts[at] = cuts[at] or 'between'
    else
      cuts[at] = 'row'
    end
  end
  local from = 1
  for at = 1, #items, 2 do
    if cuts[at] then
      put_piece(from, at)
      from = at
    end
    if cuts[at] == 'row' then
      put_single(at)
      from = at + 2
    end
  end
  put_piece(from, #items + 1)
  if #held > 2000 then send_pieces() end
end

-- Splits all runs that contain some keys or have them between their rows. Reads the old values of the keys if they
-- are not given; the least and the greatest key are given. Returns whether there was a run.
local function split_around(wanted, olds, least, greatest)
  if packed_rows == 0 or not run_over(least, greatest, runs, values) then return false end
  local around, touched, run = {}, {}, {}
  for number, stored in ipairs(olds or call('HMGET', values, unpack(wanted))) do
    local key, name = wanted[number], nil
    if not stored then
      name, stored = run_over(key, key, runs, values)
    elseif is_run(stored) then
      name = key
    end
    if name and not touched[name] then
      around[#around + 1] = name
      touched[name], run[name] = {}, stored
    end
    if name then table.insert(touched[name], key) end
  end
  if #around == 0 then return false end
  for number, list in ipairs(call('HMGET', rows, unpack(around))) do
    local name = around[number]
    split_run(name, run[name], list, touched[name])
  end
  send_pieces()
  return true
end

-- Puts of different keys, in order. ZADD returns how many of them are new.
local function put_all(items)
  effect = true
  for at = 1, #items, 2 * TOGETHER do
    local to, count, wanted = math.min(at + 2 * TOGETHER - 1, #items), 0, {}
    for place = at, to, 2 do
      count = count + 2
      wanted[count / 2] = items[place]
      added[count - 1], added[count] = '0', items[place]
      set[count - 1], set[count] = items[place], stamp .. items[place + 1]
    end
    split_around(wanted, nil, wanted[1], wanted[#wanted])
    local fresh = call('ZADD', keys, unpack(added, 1, count))
    if keep and 2 * fresh < count then
      for number, old in ipairs(call('HMGET', values, unpack(wanted))) do
        save(wanted[number], old)
      end
    end
    call('HSET', values, unpack(set, 1, count))
  end
end

-- Returns whether there is no key between two keys, nor a run around them.
local function is_free(first, last)
  local name = call('ZRANGEBYLEX', keys, '[' .. first, '+', 'LIMIT', 0, 1)[1]
  if not name then return true end
  local stored = call('HGET', values, name)
  return is_before(last, stored and is_run(stored) and first_of(stored) or name)
end

-- Removes the stored runs of which all rows are replaced by the runs in a range of arguments.
local function replace_runs(at, last)
  local names = call('ZRANGEBYLEX', runs, '[' .. sub(ARGV[at + 1], 5), '[' .. ARGV[last], 'LIMIT', 0, 512)
  if #names == 0 then return end
  local is_put, gone = {}, {}
  for place = at, last, 3 do
    local items = cmsgpack.unpack(ARGV[place + 2])
    for item = 1, #items, 2 do is_put[items[item]] = true end
  end
  local stored = call('HMGET', values, unpack(names))
  for number, list in ipairs(call('HMGET', rows, unpack(names))) do
    local items, all = cmsgpack.unpack(list), true
    for at = 1, #items, 2 do all = all and is_put[items[at]] end
    if all then
      gone[#gone + 1] = names[number]
      packed_rows = packed_rows - #items / 2
      if keep then save_run(names[number], stored[number], list) end
    end
  end
  send('ZREM', keys, gone)
  send('ZREM', runs, gone)
  send('HDEL', values, gone)
  send('HDEL', rows, gone)
end

-- Puts the runs in a range of arguments, in order. Those without a stored key between them are stored as runs. If
-- there is one, each half of the range is handled separately.
local RUNS_TOGETHER = 64
local function put_runs(from, to)
  local loose, scored, held, lists = {}, {}, {}, {}
  local function put_loose(at)
    for _, item in ipairs(cmsgpack.unpack(ARGV[at + 2])) do loose[#loose + 1] = item end
  end
  local function put_run(at)
    local name, head, list = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    local count, number = struct.unpack('>I4', head), #scored + 1
    if count == 1 then return put_loose(at) end
    packed_rows = packed_rows + count
    scored[number], scored[number + 1] = '0', name
    held[number], held[number + 1] = name, run_stamp .. head
    lists[number], lists[number + 1] = name, list
  end
  local function put(at, last)
    if is_free(sub(ARGV[at + 1], 5), ARGV[last]) then
      for place = at, last, 3 do put_run(place) end
    elseif at < last then
      local middle = at + 3 * math.floor((last - at) / 6)
      put(at, middle)
      put(middle + 3, last)
    else
      put_loose(at)
    end
  end
  for at = from, to, 3 * RUNS_TOGETHER do
    local last = math.min(at + 3 * RUNS_TOGETHER - 3, to - 2)
    if packed_rows > 0 then replace_runs(at, last) end
    put(at, last)
    send('ZADD', keys, scored)
    send('ZADD', runs, scored)
    scored, held, lists = {}, send('HSET', values, held), send('HSET', rows, lists)
    if #loose > 2 * TOGETHER then
      put_all(loose)
      loose = {}
    end
  end
  put_all(loose)
end

-- The values of the keys of a group before its operations, and which of the keys are changed since. A group
-- begins with the least and the greatest of its keys.
local found, changed, is_ranged
local function look(items, from)
  found, changed, is_ranged = {}, {}, false
  local wanted, at = {}, from + 3
  while at <= #items and items[at] ~= 'g' do
    local operation = items[at]
    if operation == 'a' or operation == 'd' or operation == 'p' and (keep or packed_rows > 0) then
      wanted[#wanted + 1] = items[at + 1]
    end
    at = at + width(operation)
  end
  if #wanted == 0 then return at end
  local olds, in_run = call('HMGET', values, unpack(wanted)), false
  for number, old in ipairs(olds) do
    found[wanted[number]] = old
    in_run = in_run or not old or is_run(old)
  end
  if in_run and split_around(wanted, olds, items[from + 1], items[from + 2]) then
    for number, old in ipairs(call('HMGET', values, unpack(wanted))) do found[wanted[number]] = old end
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
  if packed_rows > 0 then
    for _, edge in ipairs({first, bounded == '1' and last or nil}) do
      split_around({edge}, nil, edge, edge)
    end
  end
  local least = from
  while true do
    local page = call('ZRANGEBYLEX', keys, least, to, 'LIMIT', 0, 1000)
    if #page == 0 then break end
    any = true
    if keep or packed_rows > 0 then
      local olds, names = call('HMGET', values, unpack(page)), {}
      local lists = keep and lists_of(page, 1, olds, rows)
      for at, old in ipairs(olds) do
        if old and is_run(old) then
          packed_rows = packed_rows - count_of(old)
          names[#names + 1] = page[at]
          if keep then save_run(page[at], old, lists[#names]) end
        elseif keep then
          save(page[at], old)
        end
      end
      send('HDEL', rows, names)
    end
    call('HDEL', values, unpack(page))
    least = '(' .. page[#page]
  end
  if not any then return end
  call('ZREMRANGEBYLEX', keys, from, to)
  call('ZREMRANGEBYLEX', runs, from, to)
  record(#first + #last, 'r', first, last, bounded)
end

local function operate(items)
  local at = 1
  while at <= #items do
    local after = look(items, at)
    at = at + 3
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

-- The fields of the log record: texts, each after its kind; none for a gap. Each run has a field of its own, as
-- joining them in Lua would be slow.
local log_fields, record_bytes = {}, 0
local function add_log_field(kind, text)
  log_fields[#log_fields + 1], log_fields[#log_fields + 2] = kind, text
  record_bytes = record_bytes + #text
end
local is_logged = ARGV[9] == 'logged'
if ARGV[10] == 'runs' then
  local from, to = FIXED + checks + 1, #ARGV
  put_runs(from, to)
  for place = from + 2, is_logged and to or 0, 3 do add_log_field('p', ARGV[place]) end
else
  local apply = ARGV[10] == 'any' and operate or put_all
  for number = checks + 1, blocks do apply(block(number)) end
  if ARGV[10] == 'puts' and is_logged then
    add_log_field('p', block_text(checks + 1))
  elseif ARGV[10] == 'any' and changes then
    add_log_field('d', pack(changes))
  end
end
if staged then call('DEL', stage) end

local function text_of(number) return string.format('%.0f', number) end
local function finish()
  local text = text_of(version)
  call('SET', session, ARGV[1] .. ' ' .. text, 'EX', 3600)
  return {'ok', text}
end
if not effect then
  -- Runs may have been split nevertheless.
  if packed_rows ~= tonumber(state[6]) then call('HSET', meta, 'packed_rows', text_of(packed_rows)) end
  return finish()
end

if has_saved_run or #saved > 2 * TOGETHER then
  pack_saved()
elseif #saved > 0 then
  enqueue(spread(saved, stamp, undo, before))
end

version = version + 1
local text = text_of(version)
local total, floor = tonumber(state[3]) + undo_bytes, nil

-- If there are too many old values, those of the oldest commits are dropped, which ends the snapshots that need
-- them.
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

call('XADD', log, text .. '-0', 's', record_bytes, unpack(log_fields))
local log_bytes, log_count = tonumber(state[4]) + record_bytes, tonumber(state[5]) + 1
while log_count > tonumber(ARGV[6]) or log_bytes > tonumber(ARGV[7]) do
  local oldest = call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  call('XDEL', log, oldest[1])
  log_bytes, log_count = log_bytes - oldest[2][2], log_count - 1
end
local numbers = {'version', text, 'undo_bytes', text_of(total), 'log_bytes', text_of(log_bytes)}
numbers[7], numbers[8] = 'log_count', text_of(log_count)
numbers[9], numbers[10] = 'packed_rows', text_of(packed_rows)
if floor then numbers[11], numbers[12] = 'floor', floor end
call('HSET', meta, unpack(numbers))
return finish()
