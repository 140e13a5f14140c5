-- Gives for each member: its JSON, 'alive', 'lapsed' or 'left', and for how many milliseconds.
local answer = {}
local entries = redis.call('HGETALL', KEYS[1])
for at = 1, #entries, 2 do
  local id, entry = entries[at], read_entry(entries[at + 1])
  if entry.left == 0 and entry.alive_until > now + entry.lease then
    -- The clock was set back. No lease is longer than it was granted for.
    entry.alive_until = now + entry.lease
    write_entry(id, entry)
  end
  local standing, ms
  if is_alive(entry) then
    standing, ms = 'alive', entry.alive_until - now
  elseif entry.left ~= 0 then
    standing, ms = 'left', math.max(now - entry.left, 0)
  else
    standing, ms = 'lapsed', now - entry.alive_until
  end
  if standing ~= 'alive' and ms >= entry.tombstone then
    redis.call('HDEL', KEYS[1], id)
  else
    table.insert(answer, { entry.member, standing, ms })
  end
end
return answer
