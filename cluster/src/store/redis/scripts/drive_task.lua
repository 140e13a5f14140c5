-- ARGV: name, driver, lease ms. Gives stamp, state and request if this driver has it from here on.
local fields = redis.call('HMGET', KEYS[1], 'driver', 'driven_until', 'stamp', 'state', 'request')
if not fields[2] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return false
end
if fields[1] ~= ARGV[2] and tonumber(fields[2]) > now then
  return false
end
redis.call('HSET', KEYS[1], 'driver', ARGV[2])
set_driven(now + ARGV[3])
return { fields[3], fields[4], fields[5] }
