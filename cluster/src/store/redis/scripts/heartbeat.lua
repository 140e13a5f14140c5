-- ARGV: member ID, incarnation, lease ms, tombstone ms, member as JSON.
-- Gives 'renewed', the time in microseconds and whether there was no entry, or 'superseded' and
-- the incarnation that has taken the name over.
local time_now = string.format('%.0f', micros)
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text then
  local entry = read_entry(text)
  local same = entry.incarnation == ARGV[2]
  if not same and is_alive(entry) then
    return { 'superseded', entry.incarnation }
  end
  if same and entry.left ~= 0 then
    -- Sent before the member left, arrived after it.
    return { 'renewed', time_now, '0' }
  end
end
write_entry(ARGV[1], {
  incarnation = ARGV[2],
  alive_until = now + ARGV[3],
  lease = tonumber(ARGV[3]),
  tombstone = tonumber(ARGV[4]),
  left = 0,
  member = ARGV[5],
})
return { 'renewed', time_now, text and '0' or '1' }
