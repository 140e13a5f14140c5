-- ARGV: ttl ms. Gives 1 if the key is there. Another user's longer time stays.
local left = redis.call('PTTL', KEYS[1])
if left == -2 then
  return 0
end
if left < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
