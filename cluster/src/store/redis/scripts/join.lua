-- ARGV: member ID, incarnation, lease ms, tombstone ms, member as JSON, incarnation to replace or ''.
-- Gives the member that has the name, or nothing if this one is entered.
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text then
  local entry = read_entry(text)
  if is_alive(entry) and entry.incarnation ~= ARGV[2] and entry.incarnation ~= ARGV[6] then
    return entry.member
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
return false
