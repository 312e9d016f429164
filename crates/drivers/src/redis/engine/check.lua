-- A page of keys without a value, and how many keys and values there are.
-- KEYS: keys values   ARGV: least key
local page = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, 5000)
local missing = {}
for _, key in ipairs(page) do
  if redis.call('HEXISTS', KEYS[2], key) == 0 then missing[#missing + 1] = key end
end
local counts = {redis.call('ZCARD', KEYS[1]), redis.call('HLEN', KEYS[2])}
return {'ok', page[#page] or false, missing, counts[1], counts[2]}
