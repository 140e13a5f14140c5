-- In front of every script on the members. KEYS[1] is a hash: member ID to
-- "<incarnation> <alive until, ms> <lease, ms> <tombstone, ms> <left at, ms, or 0> <member as JSON>".
local function read_entry(text)
  local incarnation, alive_until, lease, tombstone, left, member =
    string.match(text, '^(%x+) (%d+) (%d+) (%d+) (%d+) (.*)$')
  return {
    incarnation = incarnation,
    alive_until = tonumber(alive_until),
    lease = tonumber(lease),
    tombstone = tonumber(tombstone),
    left = tonumber(left),
    member = member,
  }
end

local function write_entry(id, entry)
  local text = string.format('%s %.0f %.0f %.0f %.0f %s', entry.incarnation, entry.alive_until,
    entry.lease, entry.tombstone, entry.left, entry.member)
  redis.call('HSET', KEYS[1], id, text)
  local ttl = entry.lease + entry.tombstone
  if redis.call('PTTL', KEYS[1]) < ttl then
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
end

local function is_alive(entry)
  return entry.left == 0 and entry.alive_until > now
end
