-- One key at a version.
-- KEYS: meta values undo before   ARGV: version, key, least and greatest undo member
local state = redis.call('HMGET', KEYS[1], 'version', 'floor')
if not state[1] then return {'format', ''} end
if state[1] ~= ARGV[1] then
  if tonumber(ARGV[1]) > tonumber(state[1]) then return {'lost', state[1]} end
  if tonumber(ARGV[1]) < tonumber(state[2]) then return {'old', state[2]} end
  local saved = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, 1)
  if saved[1] then return {'ok', redis.call('HGET', KEYS[4], saved[1])} end
end
return {'ok', redis.call('HGET', KEYS[2], ARGV[2])}
