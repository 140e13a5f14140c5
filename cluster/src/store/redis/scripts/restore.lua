-- ARGV: node, epoch, incarnation, nonce, instance, connection, resume, the four hashes, ttl ms,
-- when the register began.
-- Gives 'held', or 'beaten' and the holder.
local stored = read_holder('')
if stored then
  if is_claim(stored, ARGV[2], ARGV[3], ARGV[4]) and not has_departed() then
    return { 'held' }
  end
  if tonumber(stored.epoch) >= tonumber(ARGV[2]) then
    return with_holder({ 'beaten' }, stored)
  end
end
redis.call('DEL', KEYS[1])
write_holder('', {
  node = ARGV[1],
  epoch = ARGV[2],
  incarnation = ARGV[3],
  nonce = ARGV[4],
  instance = ARGV[5],
  connection = ARGV[6],
  resume = ARGV[7],
})
write_hashes(ARGV[8], ARGV[9], ARGV[10], ARGV[11])
redis.call('HSET', KEYS[1], 'began', ARGV[13])
redis.call('PEXPIRE', KEYS[1], ARGV[12])
return { 'held' }
