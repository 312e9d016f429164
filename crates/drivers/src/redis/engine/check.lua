-- Checks a page of keys. Returns the keys without a value, those of incomplete runs, and the numbers of all keys and
-- values.
-- KEYS: keys runs values rows   ARGV: least key
local keys, runs, values, rows = unpack(KEYS)
local call = redis.call
local function is_whole(name, stored)
  local list = call('HGET', rows, name)
  local items = list and cmsgpack.unpack(list) or {}
  local first = first_of(stored)
  return #items == 2 * count_of(stored) and items[1] == first and items[#items - 1] == name
    and call('ZLEXCOUNT', keys, '[' .. first, '(' .. name) == 0
end
local page = call('ZRANGEBYLEX', keys, ARGV[1], '+', 'LIMIT', 0, 5000)
local missing, broken = {}, {}
for _, key in ipairs(page) do
  local stored, is_named = call('HGET', values, key), call('ZSCORE', runs, key)
  if not stored then
    missing[#missing + 1] = key
  elseif is_run(stored) ~= (is_named and true) or is_named and not is_whole(key, stored) then
    broken[#broken + 1] = key
  end
end
return {'ok', page[#page] or false, missing, broken, call('ZCARD', keys), call('HLEN', values)}
