-- One key at a version, with the version that wrote it in front.
-- KEYS: meta values undo before   ARGV: version, key
local state = redis.call('HMGET', KEYS[1], 'version', 'floor')
if not state[1] then return {'format', ''} end
local value = redis.call('HGET', KEYS[2], ARGV[2])
if state[1] == ARGV[1] then return {'ok', value} end
local version = tonumber(ARGV[1])
if version > tonumber(state[1]) then return {'lost', state[1]} end
if version < tonumber(state[2]) then return {'old', state[2]} end
if value and struct.unpack('>I8', value) <= version then return {'ok', value} end
-- It was changed since: the first change after the version saved what it found, unless the key was new.
local body = '[' .. string.gsub(ARGV[2], '%z', '\0\255') .. '\0\0'
local least, greatest = body .. struct.pack('>I8', version + 1), body .. string.rep('\255', 8)
local saved = redis.call('ZRANGEBYLEX', KEYS[3], least, greatest, 'LIMIT', 0, 1)
if not saved[1] then return {'ok', false} end
local old = redis.call('HGET', KEYS[4], saved[1])
return {'ok', old and struct.unpack('>I8', old) <= version and old or false}
