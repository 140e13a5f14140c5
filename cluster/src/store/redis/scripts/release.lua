-- ARGV: epoch, incarnation, nonce, departure, retention ms. Gives 1 if the claim held, or this
-- departure of it was noted before.
if not is_claim(read_holder(''), ARGV[1], ARGV[2], ARGV[3]) then
  return 0
end
if not has_departed() then
  redis.call('HSET', KEYS[1], 'departed', ARGV[4], 'departed_at', string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return 1
