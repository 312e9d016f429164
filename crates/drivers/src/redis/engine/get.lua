-- Reads the values of keys at a version, each with the version that wrote it in front, until they reach a size.
-- KEYS: meta runs values rows undo before packed pending   ARGV: version, bytes, keys
local meta, runs, values, rows, undo, before, packed, pending = unpack(KEYS)
local call = redis.call
local state = call('HMGET', meta, 'version', 'floor', 'packed_rows')
if not state[1] then return {'format', ''} end
local version = tonumber(ARGV[1])
local is_newest = state[1] == ARGV[1]
if not is_newest then
  if version > tonumber(state[1]) then return {'lost', state[1]} end
  if version < tonumber(state[2]) then return {'old', state[2]} end
end

-- The first change after the version has saved the old value, unless the key was new.
local is_spread = false
local function older(key)
  if not is_spread then
    spread_since(ARGV[1], undo, before, packed, pending)
    is_spread = true
  end
  local body = '[' .. escaped(key) .. '\0\0'
  local least, greatest = body .. struct.pack('>I8', version + 1), body .. string.rep('\255', 8)
  local saved = call('ZRANGEBYLEX', undo, least, greatest, 'LIMIT', 0, 1)
  local old = saved[1] and call('HGET', before, saved[1])
  return old and struct.unpack('>I8', old) <= version and old or false
end

-- Returns whether the value must be searched in a run, and adds the run to the reply. The run may not contain the
-- key; then the key did not exist at the version, as nothing between its keys has changed since.
local has_runs = state[3] ~= '0'
local in_runs, add, bring = collector(rows)
local function in_run(key, value, index)
  if not has_runs or value and not is_run(value) then return false end
  local name = key
  if not value and is_newest then
    name = name_until(key, runs)
  elseif not value then
    name, value = run_over(key, key, runs, values)
  end
  if not name or not is_newest and struct.unpack('>I8', since(value)) > version then return false end
  add(name, index)
  return true
end

local reply, bytes, bytes_max = {'ok', in_runs}, 0, tonumber(ARGV[2])
for at = 3, #ARGV, 16 do
  if bytes > bytes_max then break end
  local to = math.min(at + 15, #ARGV)
  for number, value in ipairs(call('HMGET', values, unpack(ARGV, at, to))) do
    local key = ARGV[at + number - 1]
    if in_run(key, value, #reply - 2) then
      value = false
    elseif not is_newest and not (value and struct.unpack('>I8', value) <= version) then
      value = older(key)
    end
    bytes = bytes + #(value or '')
    reply[#reply + 1] = value
  end
  bytes = bytes + bring()
end
return reply
