-- ARGV: name, stamp, state, request, driver, lease ms, ttl ms. Gives 1 if the task is this one.
local stamp = redis.call('HGET', KEYS[1], 'stamp')
if stamp then
  return stamp == ARGV[2] and 1 or 0
end
redis.call('HSET', KEYS[1], 'stamp', ARGV[2], 'state', ARGV[3], 'request', ARGV[4],
  'driver', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
set_driven(now + ARGV[6])
return 1
