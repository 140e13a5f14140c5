-- ARGV: epoch, incarnation, nonce, ttl ms. Gives 1 if the claim holds.
if not is_claim(read_holder(''), ARGV[1], ARGV[2], ARGV[3]) or has_departed() then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
