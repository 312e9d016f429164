-- Makes a key space where there is none yet.
-- KEYS: meta   ARGV: format
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'version', 0, 'floor', 0, 'undo_bytes', 0, 'log_bytes', 0,
    'log_count', 0)
end
return {'ok', redis.call('HGET', KEYS[1], 'format')}
