-- Runs: consecutive rows of one commit that are stored together, under the last of their keys. No other key is
-- between the first and the last. The value of that key is the version with its first bit set, the number of rows
-- (4 bytes), and the first key; `rows` has a list of keys and values (MessagePack). This file is prepended to the
-- scripts that need it.

local function is_run(stored) return string.byte(stored) > 127 end
local function since(stored) return string.char(string.byte(stored) - 128) .. string.sub(stored, 2, 8) end
local function count_of(stored) return struct.unpack('>I4', stored, 9) end
local function first_of(stored) return string.sub(stored, 13) end

-- Compares two keys by their bytes: the operator `<` compares by the server's locale.
local function is_before(one, other)
  for at = 1, math.min(#one, #other) do
    local left, right = string.byte(one, at), string.byte(other, at)
    if left ~= right then return left < right end
  end
  return #one < #other
end

-- Returns the name (last key) of the first run that ends at or after a key.
local function name_until(key, runs)
  return redis.call('ZRANGEBYLEX', runs, '[' .. key, '+', 'LIMIT', 0, 1)[1]
end

-- Returns that name and its value.
local function run_until(key, runs, values)
  local name = name_until(key, runs)
  local stored = name and redis.call('HGET', values, name)
  if stored then return name, stored end
end

-- Returns the first run that overlaps the range from one key to another.
local function run_over(first, last, runs, values)
  local name, stored = run_until(first, runs, values)
  if name and not is_before(last, first_of(stored)) then return name, stored end
end

-- Returns the name of the run that continues beyond the end of a range ('(' and a key, or '+'), if any.
local function run_beyond(greatest, runs, values)
  if greatest == '+' then return nil end
  local stop = string.sub(greatest, 2)
  local name, stored = run_until(stop, runs, values)
  if name and is_before(first_of(stored), stop) then return name end
end

-- Returns the rows of those keys that are runs.
local function lists_of(names, from, found, rows)
  local wanted = {}
  for number, stored in ipairs(found) do
    if stored and is_run(stored) then wanted[#wanted + 1] = names[from + number - 1] end
  end
  if #wanted == 0 then return wanted end
  return redis.call('HMGET', rows, unpack(wanted))
end

-- Collects, for keys in runs, the indexes of their values in the reply, each followed by the rows in which to search
-- the key, or by the index of an earlier key in the same run.
local function collector(rows)
  local all, named, names, indexes = {}, {}, {}, {}
  local function add(name, index)
    if named[name] then
      all[#all + 1], all[#all + 2] = index, named[name]
    else
      named[name] = index
      names[#names + 1], indexes[#indexes + 1] = name, index
    end
  end
  local function bring()
    if #names == 0 then return 0 end
    local bytes = 0
    for number, list in ipairs(redis.call('HMGET', rows, unpack(names))) do
      all[#all + 1], all[#all + 2] = indexes[number], list
      bytes = bytes + #(list or '')
    end
    names, indexes = {}, {}
    return bytes
  end
  return all, add, bring
end

-- Reads the values of keys, from rows of their own or from runs. Neighbouring keys are often in one run, which is
-- read once.
local function reader(runs, values, rows, packed_rows)
  local run, stamp, items = nil, nil, nil
  local function in_run(key, stored)
    local name = key
    if not stored then name, stored = run_over(key, key, runs, values) end
    if not name then return false end
    if name ~= run then
      run, stamp = name, since(stored)
      items = cmsgpack.unpack(redis.call('HGET', rows, name))
    end
    for at = 1, #items, 2 do
      if items[at] == key then return stamp .. items[at + 1] end
    end
    return false
  end
  return function(wanted, from, to)
    local found = redis.call('HMGET', values, unpack(wanted, from, to))
    if packed_rows == '0' then return found end
    for at = from, to do
      local stored = found[at - from + 1]
      if not stored or is_run(stored) then found[at - from + 1] = in_run(wanted[at], stored) end
    end
    return found
  end
end
