-- ARGV: name, stamp before, stamp, state, request or '', ttl ms or 0, 'kept', 'wanted' or 'over'.
-- Gives 1 if it was changed, by this command or an earlier copy of it.
local stamp = redis.call('HGET', KEYS[1], 'stamp')
if stamp ~= ARGV[2] then
  return stamp == ARGV[3] and 1 or 0
end
redis.call('HSET', KEYS[1], 'stamp', ARGV[3], 'state', ARGV[4])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'request', ARGV[5])
end
if ARGV[6] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  keep_list()
end
if ARGV[7] == 'wanted' then
  set_driven(now)
elseif ARGV[7] == 'over' then
  redis.call('HDEL', KEYS[1], 'driven_until')
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 1
