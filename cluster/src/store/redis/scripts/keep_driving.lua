-- ARGV: name, driver, lease ms. Gives the stamp if this driver has the task.
local fields = redis.call('HMGET', KEYS[1], 'driver', 'driven_until', 'stamp')
if fields[1] ~= ARGV[2] or not fields[2] then
  return false
end
set_driven(now + ARGV[3])
return fields[3]
