-- ARGV: member ID, incarnation.
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text then
  local entry = read_entry(text)
  if entry.incarnation == ARGV[2] and entry.left == 0 then
    entry.left = now
    write_entry(ARGV[1], entry)
  end
end
return false
