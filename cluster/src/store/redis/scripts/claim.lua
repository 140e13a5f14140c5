-- ARGV: node, incarnation, nonce, highest epoch seen, instance, connection, resume, the four hashes,
-- ttl ms, how many nonces are remembered, when the register began, whether it
-- is moving.
-- Gives 'taken', the epoch and the displaced holder, or 'late' and the holder.
local function is_behind(other)
  return other ~= nil and other.instance == ARGV[5] and ARGV[6] < other.connection
end

local stored = read_holder('')
local nonces = redis.call('HGET', KEYS[1], 'nonces') or ''
local previous = nil
if stored then
  local departed = has_departed()
  local repeated = stored.incarnation == ARGV[2] and stored.nonce == ARGV[3]
  if repeated and not departed then
    return with_holder({ 'taken', stored.epoch }, read_holder('previous_'))
  end
  local began = tonumber(redis.call('HGET', KEYS[1], 'began') or 0)
  local is_another = stored.instance ~= ARGV[5]
  local late = repeated or is_another and (ARGV[15] == '1' or began > tonumber(ARGV[14]))
    or is_behind(stored) or is_behind(read_holder('previous_'))
  for at = 1, #nonces, 16 do
    late = late or string.sub(nonces, at, at + 15) == ARGV[3]
  end
  if late then
    return with_holder({ 'late' }, stored)
  end
  nonces = string.sub(nonces .. stored.nonce, -16 * ARGV[13])
  if not departed then
    previous = stored
  end
end

local floor = math.max(stored and tonumber(stored.epoch) or 0, tonumber(ARGV[4]),
  tonumber(ARGV[14]), micros)
local epoch = string.format('%.0f', floor + 1)
-- A move is as old as what it takes over from.
local moved = ARGV[15] == '1' and redis.call('HGET', KEYS[1], 'began')
redis.call('DEL', KEYS[1])
write_holder('', {
  node = ARGV[1],
  epoch = epoch,
  incarnation = ARGV[2],
  nonce = ARGV[3],
  instance = ARGV[5],
  connection = ARGV[6],
  resume = ARGV[7],
})
write_hashes(ARGV[8], ARGV[9], ARGV[10], ARGV[11])
redis.call('HSET', KEYS[1], 'began', moved or ARGV[14])
if previous then
  write_holder('previous_', previous)
end
if nonces ~= '' then
  redis.call('HSET', KEYS[1], 'nonces', nonces)
end
redis.call('PEXPIRE', KEYS[1], ARGV[12])
return with_holder({ 'taken', epoch }, previous)
