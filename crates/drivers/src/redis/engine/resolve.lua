-- Returns whether a commit whose reply was lost was applied. If not, it will not be applied afterwards.
-- KEYS: session   ARGV: sequence
local done = redis.call('GET', KEYS[1])
if done then
  local sequence, outcome = string.match(done, '^(%d+) (.*)$')
  if tonumber(sequence) == tonumber(ARGV[1]) then
    if outcome == 'void' then return {'void'} end
    return {'ok', outcome}
  end
  if tonumber(sequence) > tonumber(ARGV[1]) then return {'void'} end
end
redis.call('SET', KEYS[1], ARGV[1] .. ' void', 'EX', 3600)
return {'void'}
