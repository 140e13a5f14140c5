-- ARGV: content, ttl ms. Content is named by its hash: what is there is the same.
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return false
