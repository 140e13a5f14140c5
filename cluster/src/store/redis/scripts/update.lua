-- ARGV: epoch, incarnation, nonce, the four hashes, ttl ms. Gives 1 if the claim holds.
if not is_claim(read_holder(''), ARGV[1], ARGV[2], ARGV[3]) or has_departed() then
  return 0
end
write_hashes(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
redis.call('PEXPIRE', KEYS[1], ARGV[8])
return 1
