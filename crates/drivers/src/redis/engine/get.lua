-- Some keys at a version, each with the version that wrote it in front: the first ones, until they are
-- many bytes.
-- KEYS: meta values undo before packed pending   ARGV: version, bytes, keys
local meta, values, undo, before, packed, pending = unpack(KEYS)
local call = redis.call
local state = call('HMGET', meta, 'version', 'floor')
if not state[1] then return {'format', ''} end
local version = tonumber(ARGV[1])
local is_newest = state[1] == ARGV[1]
if not is_newest then
  if version > tonumber(state[1]) then return {'lost', state[1]} end
  if version < tonumber(state[2]) then return {'old', state[2]} end
end

-- The first change after the version saved what it found, unless the key was new.
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

local answer, bytes, bytes_max = {'ok'}, 0, tonumber(ARGV[2])
for at = 3, #ARGV, 16 do
  if bytes > bytes_max then break end
  local to = math.min(at + 15, #ARGV)
  for number, value in ipairs(call('HMGET', values, unpack(ARGV, at, to))) do
    if not is_newest and not (value and struct.unpack('>I8', value) <= version) then
      value = older(ARGV[at + number - 1])
    end
    bytes = bytes + #(value or '')
    answer[#answer + 1] = value
  end
end
return answer
