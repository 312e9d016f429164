-- Creates a key space if there is none, and upgrades one of the previous format.
-- KEYS: meta keys   ARGV: format, previous format
if redis.call('EXISTS', KEYS[1]) == 0 then
  -- Keys without it are remains of a key space.
  if redis.call('EXISTS', KEYS[2]) == 1 then return {'ok', ''} end
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'version', 0, 'floor', 0, 'undo_bytes', 0, 'log_bytes', 0,
    'log_count', 0, 'packed_rows', 0)
end
local format = redis.call('HGET', KEYS[1], 'format')
if format == ARGV[2] then
  format = ARGV[1]
  redis.call('HSET', KEYS[1], 'format', format)
end
return {'ok', format}
